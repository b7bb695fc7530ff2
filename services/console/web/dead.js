// Dead letters: messages that the broker gave up, and submissions that were refused.
import {h, bytes, fact, panel, plural, when} from "/dom.js";
import {get, mayAct, post} from "/api.js";
import {go} from "/app.js";
import {actButton} from "/act.js";

const QUEUES = {"dead.letters": "Set aside by the broker", "orders.rejected": "Submissions that were refused"};

function letterShow(queue, letter) {
  const again = () => go(location.pathname + location.search, {keepsFocus: true});
  return h("section", {class: "panel"},
    h("h2", {}, letter.reason || "No reason was given"),
    h("dl", {class: "facts"}, fact("came from", letter.queue), fact("through exchange", letter.exchange), fact("type", letter.type), fact("when", when(letter.died_at)),
      fact("message", letter.message_id && h("span", {class: "id"}, letter.message_id)),
      fact("correlation", letter.correlation_id && h("span", {class: "id"}, letter.correlation_id))),
    h("details", {}, h("summary", {}, "Its body"), bytes("body", letter.body ?? ""), letter.is_cut && h("p", {class: "soft"}, "Only its beginning; see makegood dead show.")),
    mayAct() && h("p", {class: "row"},
      actButton("Send it back", {title: "Send it back where it came from", text: "It is handled again as if it had just come. What made it die may do so again.",
        act: (reason) => post("dead/requeue", {queue, mark: letter.mark, reason}), done: again}),
      actButton("Drop it", {isHarm: true, title: "Drop it for good", text: "Nobody sees it again; what it asked for does not happen.",
        act: (reason) => post("dead/drop", {queue, mark: letter.mark, reason}), done: again})));
}

export async function show({main, query}) {
  const queue = query.get("queue") in QUEUES ? query.get("queue") : "dead.letters";
  main.append(h("h1", {}, "Dead letters"), h("p", {class: "row"}, Object.entries(QUEUES).map(([name, text]) =>
    h("a", {class: "button", href: `/dead?queue=${name}`, "aria-current": name === queue ? "true" : null}, text))));
  const {letters, is_cut: isCut} = await get("dead", {queue});
  main.append(letters.length === 0 ? panel(QUEUES[queue], h("p", {class: "soft"}, `The queue ${queue} is empty.`))
    : h("div", {}, h("p", {}, `${plural(letters.length, "message lies", "messages lie")} in ${queue}${isCut ? ", and there may be more" : ""}.`), letters.map((letter) => letterShow(queue, letter))));
}
