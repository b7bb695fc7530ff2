// A user with a browser. All the time it watches for forbidden events: an error on a page's console, or a request that
// leaves the console's origin. A breach of the Content-Security-Policy is such an error.
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {createRequire} from "node:module";
import {address, tokens} from "./demo.mjs";

const {MAKEGOOD_BROWSER_MODULES: modules, MAKEGOOD_BROWSER_PICTURES: pictures} = process.env;
const require = createRequire(`${modules}/`);
const {chromium} = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const SOON_MS = 60000; // a wait ends in failure after this time
const TABS_MAX = 80; // the most presses of Tab until the wanted element has the focus
const TOUCH_MIN = 44, MOUSE_MIN = 20; // pixels; axe judges the room around the small ones of a desk
const TOUCH_WIDTH = 736; // up to this width the pages are made for fingers
export const WIDE = {width: 1280, height: 800}, NARROW = {width: 320, height: 640}, DESK = {width: 1440, height: 900}, PHONE = {width: 390, height: 844};

const browser = await chromium.launch({executablePath: process.env.MAKEGOOD_CHROMIUM ?? "/usr/bin/chromium", chromiumSandbox: true});
export const leave = () => browser.close();

export class Visitor {
  /** A new user at the console's first page, in a window of this size. */
  static async come(viewport = WIDE) {
    const visitor = new Visitor();
    visitor.faults = [];
    visitor.context = await browser.newContext({viewport, reducedMotion: "reduce", baseURL: address, locale: "en-GB"});
    visitor.page = await visitor.context.newPage();
    visitor.page.setDefaultTimeout(SOON_MS);
    visitor.page.on("console", (message) => message.type() === "error" && visitor.faults.push(message.text()));
    visitor.page.on("pageerror", (error) => visitor.faults.push(String(error)));
    visitor.page.on("request", (request) => new URL(request.url()).origin === address || visitor.faults.push(`it asked ${request.url()}`));
    await visitor.page.goto("/");
    return visitor;
  }

  static async login(role, viewport) {
    const visitor = await Visitor.come(viewport);
    await visitor.page.getByLabel("Your token").fill(tokens[role]);
    await visitor.page.getByRole("button", {name: "Log in"}).click();
    await visitor.page.getByRole("button", {name: `Log out ${role}`}).waitFor();
    return visitor;
  }

  /** Closes the browser; fails if a page had a forbidden event. A fault that matches `expected` is one the test
   * caused. */
  async leave(expected) {
    await this.context.close();
    assert.deepEqual(this.faults.filter((fault) => !expected?.test(fault)), []);
  }

  /** Goes to an address as by a link of another page, and waits until its heading, or `sign`, is there. */
  async open(path, sign = this.page.locator("main h1")) {
    await this.page.goto(path);
    await sign.waitFor();
  }

  sees(text) { return this.page.getByText(text).first().waitFor(); }

  /** All faults that axe finds here, in light and in dark; a picture of both. */
  async judge(name) {
    for (const colorScheme of ["light", "dark"]) {
      await this.page.emulateMedia({colorScheme, reducedMotion: "reduce"});
      await this.page.screenshot({path: `${pictures}/${name}-${colorScheme}.png`, fullPage: true});
      await this.page.evaluate(axe);
      const found = await this.page.evaluate(() => globalThis.axe.run({rules: {"target-size": {enabled: true}}}));
      assert(found.passes.length > 0, "axe has looked at nothing");
      assert.deepEqual(found.violations.map(({id, help, nodes}) => ({id, help, at: nodes.map((node) => node.html)})), [], `${name}, ${colorScheme}`);
    }
    await this.page.emulateMedia({colorScheme: "light", reducedMotion: "reduce"});
  }

  /** Elements wider than the window, or too small for a finger; on a desk for a mouse. */
  async measure(name) {
    const found = await this.page.evaluate((touchMin) => {
      const names = (elements) => elements.map((element) => element.outerHTML.slice(0, 200));
      const isShown = (element) => element.checkVisibility() && !element.closest(".skip");
      return {
        isWide: document.documentElement.scrollWidth > window.innerWidth,
        wide: names([...document.querySelectorAll("body *")].filter((element) => isShown(element) && element.getBoundingClientRect().right > window.innerWidth + 0.5)),
        small: names([...document.querySelectorAll("button, input, select, textarea, summary, nav a, .button, .brand")]
          .filter((element) => isShown(element) && element.getBoundingClientRect().height < touchMin - 0.5)),
      };
    }, this.page.viewportSize().width <= TOUCH_WIDTH ? TOUCH_MIN : MOUSE_MIN);
    assert.deepEqual(found, {isWide: false, wide: [], small: []}, `${name} at ${this.page.viewportSize().width} px`);
  }

  /** Presses Tab until the element of this name has the focus, which must be visible. */
  async tabTo(name) {
    const seen = [];
    for (let i = 0; i < TABS_MAX; i++) {
      await this.page.keyboard.press("Tab");
      const [text, outline] = await this.page.evaluate(() => {
        const element = document.activeElement;
        return [element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent, getComputedStyle(element).outlineStyle];
      });
      seen.push(text);
      if (text === name) {
        assert.notEqual(outline, "none", `that ${name} has the focus is not seen`);
        return;
      }
    }
    assert.fail(`by Tab one does not come to "${name}", but to: ${seen.join(", ")}`);
  }
}
