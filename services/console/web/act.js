// Changes. Each shows its effect, takes a reason that is recorded, and asks for confirmation.
import {h, say} from "/dom.js";

const REASON_MIN = 3, REASON_MAX = 511; // bytes
const isTooLong = (text) => new TextEncoder().encode(text.trim()).length > REASON_MAX;

function field({name, label, type = "text", value, choices, rows, ...more}) {
  const own = {id: `act-${name}`, name, ...more};
  return h("div", {}, h("label", {for: own.id}, label),
    choices ? h("select", own, choices.map(([word, text]) => h("option", {value: word}, text)))
      : rows ? h("textarea", {...own, rows, class: "id", spellcheck: "false", autocapitalize: "off"}, value ?? "")
        : h("input", {...own, type, value, autocomplete: "off"}));
}

/** Shows a dialog until it is closed; `form` has its contents. */
function dialogShow(form, isWide = false) {
  const dialog = h("dialog", {"aria-labelledby": "act-title", class: isWide ? "is-wide" : null}, form);
  dialog.onclose = () => dialog.remove();
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Shows a text to take along, and copies it on demand. */
export function copyShow(title, text) {
  const area = h("textarea", {id: "copy-text", readonly: true, rows: 16, class: "id"}, text);
  const told = h("p", {class: "soft", role: "status"});
  const copy = h("button", {type: "button", class: "first", onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      told.textContent = "Copied.";
    } catch {
      area.select(); // without https a browser has no clipboard for pages
      told.textContent = "The text is selected: copy it by the keyboard.";
    }
  }}, "Copy");
  const dialog = dialogShow(h("form", {method: "dialog"}, h("h2", {id: "act-title"}, title), h("div", {}, h("label", {for: "copy-text"}, "Text"), area), told,
    h("div", {class: "row"}, h("button", {type: "submit"}, "Close"), copy)), true);
  copy.focus();
  return dialog;
}

const LOOK_MS = 500;

function open({title, text, fields = [], isHarm = false, isImpossible = false, preview = null, fault = () => "", act, done}) {
  const failed = h("p", {class: "failed", role: "alert"}), shown = h("div", {class: "preview", "aria-live": "polite"});
  const reason = h("textarea", {id: "act-reason", name: "reason", required: true, minlength: REASON_MIN, maxlength: REASON_MAX,
    oninput: ({target}) => target.setCustomValidity(isTooLong(target.value) ? `At most ${REASON_MAX} bytes; a letter outside ASCII takes two or more.` : "")});
  const confirm = h("button", {type: "submit", class: isHarm ? "harm" : "first", disabled: isImpossible}, title);
  const values = () => Object.fromEntries(fields.map(({name}) => [name, form.elements[name].value.trim()]).filter(([, value]) => value !== ""));
  const look = () => {
    if (preview === null) return;
    const {content, isReady} = preview(values());
    shown.replaceChildren(...[content].flat());
    confirm.disabled = !isReady;
  };
  const form = h("form", {oninput: look, onsubmit: async (event) => {
    event.preventDefault();
    confirm.disabled = true;
    failed.textContent = "";
    try {
      const result = await act(reason.value.trim(), values());
      dialog.close();
      await done(result);
      say(result.text ?? `${title}: done`);
    } catch (error) {
      failed.textContent = `${error.message}.`;
      confirm.disabled = false;
    }
  }}, h("h2", {id: "act-title"}, title), h("p", {}, text), fields.map(field), preview && shown,
  h("div", {}, h("label", {for: "act-reason"}, "Reason (recorded with your name)"), reason), failed,
  h("div", {class: "row"}, h("button", {type: "button", onclick: () => dialog.close()}, "Close"), confirm));
  const dialog = dialogShow(form, preview !== null);
  const timer = setInterval(() => {
    if (!dialog.isConnected) clearInterval(timer);
    else if (fault() !== "") {
      failed.textContent = fault();
      confirm.disabled = true;
    }
  }, LOOK_MS);
  look();
  (fields.length > 0 ? form.elements[fields[0].name] : reason).focus();
}

/**
 * act(reason, fields) makes the change and resolves with the answer; done(answer) shows the result. prepare() resolves
 * with further options that need a request first; the dialog shows its error instead of the question. preview(fields)
 * returns {content, isReady}: the effects of the change, and whether it can be made. fault() is the reason why it cannot be
 * made any more; "": it can.
 */
export function actButton(name, {prepare = async () => ({}), ...options}) {
  let isPreparing = false; // instead of `disabled`, which would lose the focus
  return h("button", {type: "button", class: options.isHarm ? "harm" : options.isFirst ? "first" : null, onclick: async () => {
    if (isPreparing) return;
    isPreparing = true;
    try {
      open({...options, ...await prepare()});
    } catch (error) {
      open({...options, text: `This action is not available now: ${error.message}.`, fields: [], preview: null, isImpossible: true});
    } finally {
      isPreparing = false;
    }
  }}, name);
}
