// Parts of pages with a list: the form of its search, and the button for its next page.
import {h, panel, say} from "/dom.js";
import {go, trouble} from "/app.js";

/** The form of a search at `path`; on a narrow screen it is folded until it has a filter. fields: [{name, label, placeholder?, choices?}]; choices: [[value, text]]. */
export function searchPanel(path, fields, filter) {
  const control = ({name, placeholder, choices}) => {
    const own = {id: `filter-${name}`, name};
    return choices ? h("select", own, choices.map(([value, text]) => h("option", {value, selected: value === filter[name]}, text)))
      : h("input", {...own, value: filter[name], placeholder, autocomplete: "off", autocapitalize: "off", spellcheck: "false"});
  };
  const form = h("form", {class: "filters", onsubmit: (event) => {
    event.preventDefault();
    const wanted = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, value.trim()]).filter(([, value]) => value !== ""));
    go(`${path}${String(wanted) === "" ? "" : `?${wanted}`}`);
  }},
  fields.map((field) => h("div", {}, h("label", {for: `filter-${field.name}`}, field.label), control(field))),
  h("div", {class: "row"}, h("button", {type: "submit", class: "first"}, "Search"), h("a", {class: "button", href: path}, "Clear")));
  const isFolded = fields.every(({name}) => filter[name] === "") && matchMedia("(max-width: 46rem)").matches;
  return h("section", {class: "panel", "aria-label": "Search"}, isFolded ? h("details", {}, h("summary", {}, "Search"), form) : form);
}

/** A panel with a list that is read by pages. show(rows, page) draws all rows that have been read, ask(next) reads another page. */
export function pagedPanel(title, first, {rowsOf, show, ask}) {
  const list = h("div"), rows = [];
  const add = (page) => {
    rows.push(...rowsOf(page));
    const more = page.next !== null && h("button", {type: "button", onclick: () => addNext(page.next, more)}, rows.length === 0 ? "Search further" : "More");
    list.replaceChildren(...[show(rows, page), more && h("p", {class: "row"}, more)].flat().filter(Boolean));
  };
  const addNext = async (next, button) => {
    const had = rows.length;
    button.disabled = true;
    try {
      add(await ask(next));
    } catch (error) {
      trouble(`The next page is not available: ${error.message}.`);
      button.disabled = false;
      return;
    }
    trouble("");
    say(`${rows.length - had} more`);
    list.querySelectorAll("tbody tr")[had]?.querySelector("a")?.focus();
  };
  add(first);
  return panel(title, list);
}
