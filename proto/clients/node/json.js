// JSON whose numbers keep their digits. JSON.parse makes 14 of 14.00, and rounds numbers of more than 17 digits.
import {types} from "node:util";

export const LEVELS_MAX = 1040; // of a request, as schedulers send it; bounds the recursion here
const MEMBERS_MAX = 2 ** 22;  // and elements; a request of 4 MiB, the most that agents read, has fewer
const BLANKS = " \t\n\r";
const UNFIT = /[\0\p{Surrogate}]/u; // schedulers refuse NUL, and halves of surrogate pairs
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const UTF8 = new TextDecoder("utf-8", {fatal: true, ignoreBOM: true});

/** A number that JavaScript would print with other digits. It computes as that number, and is written with its own digits. */
export class Digits {
  constructor(text) {
    if (typeof text !== "string" || !NUMBER.test(text)) throw new TypeError(`"${text}" is no number of JSON`);
    this.text = text;
  }

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

/** The value that JSON.stringify writes: the answer of toJSON, and the value in an object such as new Number(3). */
function plain(value, name) {
  if (value instanceof Digits) return value;
  const answer = typeof value === "object" && typeof value?.toJSON === "function" ? value.toJSON(name) : value;
  if (types.isNumberObject(answer)) return Number(answer);
  if (types.isStringObject(answer)) return String(answer);
  return types.isBooleanObject(answer) || types.isBigIntObject(answer) ? answer.valueOf() : answer;
}

/** As JSON.stringify, and Digits with their digits. Throws for a value that is no JSON, RangeError above `levels` levels or `members`
 *  members and elements. */
export function writeJson(value, levels = LEVELS_MAX, members = MEMBERS_MAX) {
  let room = members;

  function take(count) {
    room -= count;
    if (room < 0) throw new RangeError("it has too many members and elements");
  }

  function array(elements, below) {
    take(elements.length); // holes count, too
    return `[${Array.from(elements, (one, at) => write(plain(one, String(at)) ?? null, below)).join()}]`;
  }

  function object(one, below) {
    const entries = Object.entries(one).map(([name, member]) => [name, plain(member, name)]).filter(([, member]) => member !== undefined);
    take(entries.length);
    return `{${entries.map(([name, member]) => `${write(name)}:${write(member, below)}`).join()}}`;
  }

  function write(one, levelsLeft) {
    if (one instanceof Digits) return new Digits(one.text).text; // checks it, since it may have been changed
    if (typeof one === "bigint") return one.toString();
    if (typeof one === "object" && one !== null) {
      if (levelsLeft === 0) throw new RangeError("it has too many levels");
      return Array.isArray(one) ? array(one, levelsLeft - 1) : object(one, levelsLeft - 1);
    }
    if (typeof one === "string" ? UNFIT.test(one) : typeof one === "number" && !Number.isFinite(one)) {
      throw new TypeError(`${typeof one === "string" ? JSON.stringify(one) : one} cannot be written as JSON`);
    }
    const text = JSON.stringify(one);
    if (text === undefined) throw new TypeError(`a ${typeof one} cannot be written as JSON`);
    return text;
  }

  return write(plain(value, ""), levels);
}
