import { expect, test } from "vitest";
import { shownInputs } from "./shown-inputs.ts";

test("leaves go by their paths, members of a list by their names where they have some", () => {
  const env = [
    { name: "LEVEL", value: "1" },
    { name: "MODE", value: "fast" },
  ];
  expect(shownInputs({ container: { args: ["a", 2, null], env } })).toEqual({
    "container.args[0]": "a",
    "container.args[1]": "2",
    "container.args[2]": "null",
    "container.env[LEVEL].name": "LEVEL",
    "container.env[LEVEL].value": "1",
    "container.env[MODE].name": "MODE",
    "container.env[MODE].value": "fast",
  });
});

test.each([
  ["a variable that is called so", { env: [{ name: "DB_PASSWORD", value: "hunter2" }] }],
  ["a field that is called so", { stringData: { apiKey: { nested: "hunter2" } } }],
  ["an authorization header", { args: ["Authorization: Bearer hunter2"] }],
  ["an address with a password", { url: "https://me:hunter2@example.com/x" }],
  ["a key in PEM", { text: "-----BEGIN RSA PRIVATE KEY-----\nhunter2" }],
  ["an option of a script", { command: ["login --password=hunter2"] }],
])("what may be secret is a digest: %s", (_what, value) => {
  const shown = JSON.stringify(shownInputs(value));
  expect(shown).not.toContain("hunter2");
  expect(shown).toMatch(/digest [a-z2-7]{16} of \d+ characters/);
});

test("equal values have equal digests, others have not", () => {
  const digest = (text: string) => shownInputs({ token: text })["token"];
  expect(digest("a")).toBe(digest("a"));
  expect(digest("a")).not.toBe(digest("b"));
});

test("is bounded in fields, in values and in paths", () => {
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`f${index}`, "x".repeat(10_000)]));
  const shown = shownInputs({ ["deep".repeat(100)]: "v", many });
  expect(Object.keys(shown)).toHaveLength(256);
  expect(shown["…"]).toMatch(/^746 more fields, digest /);
  for (const [path, text] of Object.entries(shown)) expect(path.length + text.length).toBeLessThan(300);
});
