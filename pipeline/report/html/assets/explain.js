// A page of one article.

startTheme();
showArticle(document.getElementById("detail"), JSON.parse(document.getElementById("data-view").textContent));
