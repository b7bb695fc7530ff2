// JSON whose numbers keep their digits. JSON.parse makes 14 of 14.00, and rounds numbers of more than 17 digits.

export const LEVELS_MAX = 1040; // of a request, as schedulers send it; bounds the recursion here
const BLANKS = " \t\n\r";
const UNFIT = /[\0\p{Surrogate}]/u; // schedulers refuse NUL, and halves of surrogate pairs
const UTF8 = new TextDecoder("utf-8", {fatal: true, ignoreBOM: true});

/** A number that JavaScript would print with other digits. It computes as that number, and is written with its own digits. */
export class Digits {
  constructor(text) { this.text = text; }
  toString() { return this.text; }
  valueOf() { return Number(this.text); }
  toJSON() { return JSON.rawJSON ? JSON.rawJSON(this.text) : Number(this.text); } // writeJson does not ask
}

/** Throws for bytes that are no JSON, and for a name that occurs twice in an object. */
export function readJson(bytes) {
  const text = UTF8.decode(bytes);
  JSON.parse(text); // refuses all that is malformed: the rest here may rely on the grammar
  let at = 0;

  function skip(characters) {
    while (at < text.length && characters.includes(text[at])) at++;
  }

  function string() {
    const from = at++;
    while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
    return JSON.parse(text.slice(from, ++at));
  }

  function scalar() {
    const from = at;
    while (at < text.length && !",]}".includes(text[at]) && !BLANKS.includes(text[at])) at++;
    const word = text.slice(from, at);
    if (/[a-z]$/.test(word)) return JSON.parse(word); // true, false, null
    return String(Number(word)) === word ? Number(word) : new Digits(word);
  }

  function collection(levels) {
    if (levels === 0) throw new RangeError(`it has more than ${LEVELS_MAX} levels`);
    const isObject = text[at++] === "{", elements = [], members = new Map();
    for (skip(BLANKS); !"]}".includes(text[at]); skip(BLANKS + ",")) {
      if (isObject) {
        const name = string();
        if (members.has(name)) throw new SyntaxError(`the name "${name}" occurs twice in an object`);
        skip(BLANKS + ":");
        members.set(name, value(levels - 1));
      } else {
        elements.push(value(levels - 1));
      }
    }
    at++;
    return isObject ? Object.fromEntries(members) : elements;
  }

  function value(levels) {
    skip(BLANKS);
    if (text[at] === '"') return string();
    return "{[".includes(text[at]) ? collection(levels) : scalar();
  }

  return value(LEVELS_MAX);
}

/** As JSON.stringify, and Digits with their digits. Throws for a value that is no JSON, RangeError above `levels` levels. */
export function writeJson(value, levels = LEVELS_MAX) {
  if (value instanceof Digits || typeof value === "bigint") return value.toString();
  if (typeof value?.toJSON === "function") return writeJson(value.toJSON(), levels);
  if (typeof value === "string" ? UNFIT.test(value) : typeof value === "number" && !Number.isFinite(value)) {
    throw new TypeError(`${JSON.stringify(value)} cannot be written as JSON`);
  }
  if (typeof value === "object" && value !== null) {
    if (levels === 0) throw new RangeError("it has too many levels");
    if (Array.isArray(value)) return `[${value.map((one) => writeJson(one ?? null, levels - 1)).join()}]`;
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return `{${members.map(([name, member]) => `${writeJson(name)}:${writeJson(member, levels - 1)}`).join()}}`;
  }
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`a ${typeof value} cannot be written as JSON`);
  return text;
}

/** Its members and elements, at all levels. */
export function countMembers(value) {
  if (typeof value !== "object" || value === null || value instanceof Digits) return 0;
  return Object.values(value).reduce((count, member) => count + 1 + countMembers(member), 0);
}
