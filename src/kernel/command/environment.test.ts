import { expect, test } from "vitest";
import { type ColorChoice, defaultDataDirectory, styleOf } from "./environment.ts";
import { environmentIn } from "./testing/index.ts";

type Variables = Readonly<Record<string, string>>;
const style = (isTty: boolean, variables: Variables = {}, color: ColorChoice = "auto") =>
  styleOf(isTty, (name) => variables[name], color);

test.each<[string, boolean, Variables, ColorChoice, boolean]>([
  ["a terminal", true, {}, "auto", true],
  ["a pipe", false, {}, "auto", false],
  ["a dumb terminal", true, { TERM: "dumb" }, "auto", false],
  ["NO_COLOR on a terminal", true, { NO_COLOR: "1" }, "auto", false],
  ["NO_COLOR that says 0", true, { NO_COLOR: "0" }, "auto", false],
  ["FORCE_COLOR on a pipe", false, { FORCE_COLOR: "1" }, "auto", true],
  ["FORCE_COLOR=true on a pipe", false, { FORCE_COLOR: "true" }, "auto", true],
  ["FORCE_COLOR=0 on a terminal", true, { FORCE_COLOR: "0" }, "auto", false],
  ["NO_COLOR against FORCE_COLOR", true, { NO_COLOR: "1", FORCE_COLOR: "1" }, "auto", false],
  ["--color=always on a pipe with NO_COLOR", false, { NO_COLOR: "1" }, "always", true],
  ["--color=never on a terminal with FORCE_COLOR", true, { FORCE_COLOR: "1" }, "never", false],
])("colours: %s", (_what, isTty, variables, choice, expected) => {
  expect(style(isTty, variables, choice).color).toBe(expected);
});

test.each<[Variables, boolean]>([
  [{ LANG: "C.UTF-8" }, true],
  [{ LANG: "de_DE.utf8" }, true],
  [{ LANG: "C" }, false],
  [{}, false],
  [{ LANG: "C.UTF-8", LC_CTYPE: "C" }, false],
  [{ LANG: "C", LC_CTYPE: "C", LC_ALL: "en_US.UTF-8" }, true],
  [{ LANG: "C.UTF-8", LC_ALL: "POSIX" }, false],
])("letters beyond ASCII in the locale %j: %s", (variables, expected) => {
  expect(style(true, variables).unicode).toBe(expected);
});

test("a dumb terminal is none, and colours that are forced do not make one", () => {
  expect(style(true).isTerminal).toBe(true);
  expect(style(true, { TERM: "dumb", FORCE_COLOR: "1" }).isTerminal).toBe(false);
  expect(style(false, {}, "always").isTerminal).toBe(false);
});

test("everything is kept in the user's home unless told otherwise", () => {
  expect(defaultDataDirectory(environmentIn("/home/me"))).toBe("/home/me/.slipway");
  expect(defaultDataDirectory(environmentIn("/home/me", { variables: { SLIPWAY_DATA_DIR: "/var/x" } }))).toBe("/var/x");
});
