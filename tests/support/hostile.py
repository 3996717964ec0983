"""An article that tries to act: markup, scripts, quotes, characters that hide or turn the line around."""

HOSTILE_ID = "</script>'\"&%<b>"
HOSTILE_TITLE = "<img src=x onerror=alert(1)>《<b>标题</b>》\u202e反\u2028"
HOSTILE_CONTENT = (
    "<script>window.ran=true;alert('x')</script>\n"
    "<svg onload=\"window.ran=true\"></svg><iframe src='javascript:parent.ran=true'></iframe>\n"
    "--><!-- ]]> </textarea></title></style> &lt;b&gt; &amp; &#39; ${window.ran=true} `${1}` {n}\n"
    "'); window.ran = true; ('\\u003c\\\\ \"quoted\" “引号”\n"
    "turn \u202eabc\u202c isolate \u2066x\u2069 mark \u200f\u200e zero\u200bwidth bom\ufeff soft\xadhyphen\n"
    "null\x00bell\x07 escape\x1b[31m del\x7f c1\x85 line\u2028paragraph\u2029 half \ud83d end\n"
    "𠮷野家 👩\u200d👧 é ＆ \t tab"
)
