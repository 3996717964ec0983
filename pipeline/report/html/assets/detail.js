// One article: what was gold, what was predicted and why, and the text with all of it marked.

function showArticle(root, view, before) {
  const text = el("div", { class: "text", lang: "zh-CN" });
  const drawText = (attention) => {
    text.replaceChildren(
      el("h2", { class: "article-title" }, view.title ? fieldMarks(view, "title", attention) : say("untitled")),
      el("div", { class: "content" }, fieldMarks(view, "content", attention)),
    );
    text.classList.toggle("heated", attention !== null);
  };
  drawText(null);
  const focus = (entity) => focusEntity(text, entity);
  const gold = view.gold ?? [];
  root.replaceChildren(
    ...(before ?? []),
    el("div", { class: "meta" }, ...facts(view, gold)),
    el("div", { class: "tables" }, gold.length ? goldTable(view, focus) : null, predictedTable(view, focus)),
    legendOfMarks(gold.length > 0),
    ...attentionButtons(view, drawText),
    text,
    el("div", { class: "tables" }, nextTable(view)),
    ...[...view.pred, ...gold, ...(view.next ?? [])]
      .filter((entity) => entity.features?.length)
      .map((entity) => featureTable(entity, view.pred.includes(entity) && !entity.is_gold)),
  );
}

function facts(view, gold) {
  const chips = [el("code", {}, shown(view.id))];
  if (gold.length && view.entity_f1 !== null && view.entity_f1 !== undefined) {
    chips.push(el("span", {}, `${say("entity_f1")} `, el("b", {}, percent(view.entity_f1))));
    chips.push(el("span", {}, `${say("emotion_f1")} `, el("b", {}, percent(view.emotion_f1))));
  }
  for (const [name, value] of Object.entries(view.slices ?? {})) {
    const values = (Array.isArray(value) ? value : [value]).filter((one) => one !== null && one !== undefined);
    if (values.length) {
      chips.push(el("span", { class: "chip" }, `${sliceWord(name)}: `, shown(values.map(sliceValue).join(", "))));
    }
  }
  return chips;
}

function sliceWord(name) {
  return words[`slice_${name}`] ?? name;
}

function sliceValue(value) {
  const known = String(value);
  return ["yes", "no", "POS", "NORM", "NEG", "latin", "cjk", "mixed"].includes(known) ? say(known) : known;
}

function fieldMarks(view, field, attention) {
  const spans = [];
  for (const [kind, entities] of [["gold", view.gold ?? []], ["pred", view.pred]]) {
    for (const { entity, emotion, mentions } of entities) {
      for (const [of, start, end] of mentions ?? []) {
        if (of === field) spans.push({ kind, entity, emotion, start, end });
      }
    }
  }
  for (const [of, start, end, weight] of attention?.weights ?? []) {
    if (of === field) spans.push({ kind: "heat", start, end, weight });
  }
  return marked(view[field], spans);
}

function legendOfMarks(hasGold) {
  const sample = (kind, emotion) =>
    el("mark", { class: `${kind} m-${emotion} start end`, "aria-hidden": "true" }, say(emotion));
  const legend = el("p", { class: "legend marks" });
  for (const kind of hasGold ? ["gold", "pred"] : ["pred"]) {
    legend.append(el("span", {}, `${say(`legend_${kind}`)}  `, ...EMOTIONS.map((emotion) => sample(kind, emotion))));
  }
  return legend;
}

function attentionButtons(view, drawText) {
  const heats = view.attention ?? [];
  if (!heats.length) return [];
  const bar = el("p", { class: "attention", role: "group", "aria-label": say("attention") }, `${say("attention")} `);
  const add = (label, attention) => {
    const button = el("button", { type: "button", "aria-pressed": String(attention === null) }, label);
    button.addEventListener("click", () => {
      for (const other of bar.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
      drawText(attention);
    });
    bar.append(button);
  };
  add(say("attention_off"), null);
  for (const heat of heats) add(shownString(`${heat.entity} · ${heat.head}`), heat);
  bar.append(el("span", { class: "note" }, say("legend_heat")));
  return [bar];
}

function focusEntity(text, entity) {
  let first = null;
  for (const mark of text.querySelectorAll("mark")) {
    const isIt = mark.dataset.entity === entity;
    mark.classList.toggle("focus", isIt);
    if (isIt) first ??= mark;
  }
  first?.scrollIntoView({ block: "center", behavior: "smooth" });
}

function table(caption, columns, rows) {
  const head = el("tr", {}, ...columns.map(([name, kind]) => el("th", { scope: "col", class: kind }, name)));
  const body = rows.length ? rows : [el("tr", {}, el("td", { colspan: columns.length }, say("no_entities")))];
  const whole = el("table", {}, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, ...body));
  return el("div", { class: "scroll" }, whole);
}

function entityCell(entity, focus) {
  const button = el("button", { type: "button", class: "go", onclick: () => focus(entity.entity) }, shown(entity.entity));
  return el("th", { scope: "row" }, entity.mentions?.length ? button : el("span", {}, shown(entity.entity)));
}

function goldTable(view, focus) {
  const rows = view.gold.map((entity) => {
    const outcome = entity.reason ?? (entity.is_right_emotion === false ? "wrong_emotion" : "right_emotion");
    const chosen = view.pred.find((other) => other.entity === entity.entity);
    const also = outcome === "wrong_emotion" && chosen ? el("span", {}, " → ", emotionName(chosen.emotion)) : null;
    return el(
      "tr",
      {},
      entityCell(entity, focus),
      el("td", {}, emotionName(entity.emotion)),
      el("td", { class: "n" }, String(entity.mentions?.length ?? 0)),
      el("td", { title: words[`fix_${outcome}`] }, el("span", { class: `key ${outcome}` }, say(outcome)), also),
    );
  });
  return table(say("gold_entities"), [[say("entity")], [say("emotion")], [say("mentions"), "n"], [say("outcome")]], rows);
}

function predictedTable(view, focus) {
  const hasGold = (view.gold ?? []).length > 0;
  const rows = view.pred.map((entity) =>
    el(
      "tr",
      {},
      entityCell(entity, focus),
      el("td", {}, emotionName(entity.emotion)),
      el("td", {}, probabilities(entity.probs)),
      el("td", { class: "n" }, entity.score.toFixed(3)),
      el("td", { class: "n" }, String(entity.mentions?.length ?? 0)),
      hasGold
        ? el("td", {}, el("span", { class: `key ${entity.is_gold ? "right_emotion" : "spurious"}` }, say(entity.is_gold ? "hit" : "not_gold")))
        : null,
    ),
  );
  const columns = [[say("entity")], [say("emotion")], [say("probs")], [say("probability"), "n"], [say("mentions"), "n"]];
  if (hasGold) columns.push([say("outcome")]);
  return table(say("pred_entities"), columns, rows);
}

function probabilities(probs) {
  if (!probs) return el("span", {}, "–");
  const bar = el("span", { class: "probs", "aria-hidden": "true" });
  const numbers = el("span", { class: "prob-numbers" });
  probs.forEach((share, index) => {
    const emotion = EMOTIONS[index];
    const part = el("span", { class: `m-${emotion}` });
    part.style.setProperty("width", `${100 * share}%`);
    bar.append(part);
    numbers.append(el("span", { class: `e-${emotion}`, title: say(emotion) }, `${SHAPES[emotion]}${Math.round(100 * share)}`), " ");
  });
  return el("span", { class: "prob" }, bar, numbers);
}

function nextTable(view) {
  const next = view.next ?? [];
  if (!next.length) return null;
  const rows = next.map((candidate) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, shown(candidate.entity)),
      el("td", { class: "n" }, candidate.score.toFixed(3)),
      el("td", {}, candidate.is_gold ? el("span", { class: "key right_emotion" }, say("gold")) : ""),
    ),
  );
  return table(say("next"), [[say("entity")], [say("probability"), "n"], [""]], rows);
}

function featureTable(entity, isOpen) {
  const most = Math.max(...entity.features.map((feature) => Math.abs(feature.shap)), 1e-9);
  const rows = entity.features.map((feature) => {
    const bar = el("span", { class: feature.shap < 0 ? "effect down" : "effect up" });
    bar.style.setProperty("width", `${(50 * Math.abs(feature.shap)) / most}%`);
    const value = typeof feature.value === "number" ? String(Number(feature.value.toPrecision(4))) : String(feature.value ?? "–");
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, el("code", {}, feature.name)),
      el("td", { class: "n" }, value),
      el("td", { class: "n" }, (feature.shap > 0 ? "+" : "") + feature.shap.toFixed(3)),
      el("td", { class: "effects" }, bar),
    );
  });
  const columns = [[say("feature")], [say("value"), "n"], [say("shap"), "n"], [""]];
  const title = say("features", { entity: "\u0000" }).split("\u0000");
  const summary = el("summary", {}, title[0], el("b", {}, shown(entity.entity)), title[1] ?? "");
  const body = table("", columns, rows);
  body.querySelector("caption").remove();
  return el("details", { class: "features", open: isOpen }, summary, body);
}
