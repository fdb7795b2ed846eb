import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { inNamespace, shellWord } from "./refs.ts";

test.each(["build", "a b", "$(id)", "`id`", "it's", "a\nrm -rf /", "", ";id", '"', "\u202eevil"])(
  "a shell takes %j of an address as one word",
  (text) => {
    expect(execFileSync("sh", ["-c", `printf %s ${shellWord(text)}`]).toString()).toBe(text);
  },
);

test("a usual name stays as it is; no namespace is no option", () => {
  expect(shellWord("workflow.slipway.dev/build")).toBe("workflow.slipway.dev/build");
  expect([inNamespace("prod"), inNamespace(""), inNamespace(undefined), inNamespace("a b")]).toEqual([
    " -n prod",
    "",
    "",
    " -n 'a b'",
  ]);
});
