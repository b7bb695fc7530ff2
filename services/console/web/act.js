// Changes. Each shows its effect, takes a reason that is recorded, and asks for confirmation.
import {h, say} from "/dom.js";

const REASON_MIN = 3, REASON_MAX = 511; // bytes
const isTooLong = (text) => new TextEncoder().encode(text.trim()).length > REASON_MAX;

function field({name, label, type = "text", value, choices, ...more}) {
  const own = {id: `act-${name}`, name, ...more};
  return h("div", {}, h("label", {for: own.id}, label), choices
    ? h("select", own, choices.map(([word, text]) => h("option", {value: word}, text)))
    : h("input", {...own, type, value, autocomplete: "off"}));
}

function open({title, text, fields = [], isHarm = false, isImpossible = false, act, done}) {
  const failed = h("p", {class: "failed", role: "alert"});
  const reason = h("textarea", {id: "act-reason", name: "reason", required: true, minlength: REASON_MIN, maxlength: REASON_MAX,
    oninput: ({target}) => target.setCustomValidity(isTooLong(target.value) ? `At most ${REASON_MAX} bytes, two for most letters that are not Latin.` : "")});
  const confirm = h("button", {type: "submit", class: isHarm ? "harm" : "first", disabled: isImpossible}, title);
  const form = h("form", {onsubmit: async (event) => {
    event.preventDefault();
    confirm.disabled = true;
    failed.textContent = "";
    const values = Object.fromEntries(fields.map(({name}) => [name, form.elements[name].value.trim()]).filter(([, value]) => value !== ""));
    try {
      const result = await act(reason.value.trim(), values);
      dialog.close();
      await done(result);
      say(result.text ?? `${title}: done`);
    } catch (error) {
      failed.textContent = `${error.message}.`;
      confirm.disabled = false;
    }
  }}, h("h2", {id: "act-title"}, title), h("p", {}, text), fields.map(field),
  h("div", {}, h("label", {for: "act-reason"}, "Why; it is kept with your name"), reason), failed,
  h("div", {class: "row"}, h("button", {type: "button", onclick: () => dialog.close()}, "Leave it"), confirm));
  const dialog = h("dialog", {"aria-labelledby": "act-title"}, form);
  dialog.onclose = () => dialog.remove();
  document.body.append(dialog);
  dialog.showModal();
  (fields.length > 0 ? form.elements[fields[0].name] : reason).focus();
}

/**
 * act(reason, fields) makes the change and resolves with the answer; done(answer) shows the result. prepare() resolves
 * with further options that need a request first; the dialog shows its error instead of the question.
 */
export function actButton(name, {prepare = async () => ({}), ...options}) {
  let isPreparing = false; // instead of `disabled`, which would lose the focus
  return h("button", {type: "button", class: options.isHarm ? "harm" : null, onclick: async () => {
    if (isPreparing) return;
    isPreparing = true;
    try {
      open({...options, ...await prepare()});
    } catch (error) {
      open({...options, text: `This cannot be asked for now: ${error.message}.`, fields: [], isImpossible: true});
    } finally {
      isPreparing = false;
    }
  }}, name);
}
