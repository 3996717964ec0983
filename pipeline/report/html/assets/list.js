// A list of any length of which only the rows in view are in the page.

class LongList {
  // box: the element that scrolls; rows: the tall one inside; draw(position): the row's content; choose(position).
  constructor(box, rows, { draw, choose }) {
    Object.assign(this, { box, rows, draw, chosen: -1, count: 0 });
    box.addEventListener("scroll", () => this.render(), { passive: true });
    new ResizeObserver(() => this.render()).observe(box);
    rows.addEventListener("click", (event) => {
      const row = event.target.closest("[data-position]");
      if (row) choose(Number(row.dataset.position));
    });
  }

  // Show so many rows; chosen is the position that is marked, -1 for none.
  fill(count, chosen) {
    this.count = count;
    this.chosen = chosen;
    this.rows.style.height = `${count * LongList.ROW}px`;
    this.render();
  }

  mark(position) {
    this.chosen = position;
    const top = position * LongList.ROW;
    const { scrollTop, clientHeight } = this.box;
    if (top < scrollTop) this.box.scrollTop = top;
    else if (top + LongList.ROW > scrollTop + clientHeight) this.box.scrollTop = top + LongList.ROW - clientHeight;
    this.render();
  }

  render() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / LongList.ROW) - 4);
    const last = Math.min(this.count, first + Math.ceil(this.box.clientHeight / LongList.ROW) + 9);
    const nodes = [];
    for (let position = first; position < last; position++) {
      const isChosen = position === this.chosen;
      const row = el(
        "div",
        {
          class: "row",
          role: "option",
          id: `row-${position}`,
          "aria-selected": String(isChosen),
          "aria-setsize": this.count,
          "aria-posinset": position + 1,
          "data-position": position,
        },
        ...this.draw(position),
      );
      row.style.top = `${position * LongList.ROW}px`;
      nodes.push(row);
    }
    this.rows.replaceChildren(...nodes);
    if (this.chosen >= 0) this.box.setAttribute("aria-activedescendant", `row-${this.chosen}`);
    else this.box.removeAttribute("aria-activedescendant");
  }
}

LongList.ROW = 58; // pixels; report.css has the same
