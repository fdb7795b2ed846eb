import fc from "fast-check";
import { expect, test } from "vitest";
import { keyText, parseKeyText } from "./owners.ts";

const part = fc.stringMatching(/^[a-z0-9.:/-]{0,12}$/);
const key = fc.record({ group: part, resource: part, namespace: part, name: part });

test("a text gives back the key it was made of", () => {
  fc.assert(
    fc.property(key, (one) => {
      expect(parseKeyText(keyText(one))).toEqual(one);
    }),
  );
});

test("different keys have different texts", () => {
  const close = fc.record({
    group: fc.constantFrom("", "a", "a.b"),
    resource: fc.constantFrom("b", "b.a"),
    namespace: fc.constantFrom("", "n"),
    name: fc.constantFrom("n", "x"),
  });
  fc.assert(
    fc.property(close, close, (one, other) => {
      const isSame = JSON.stringify(one) === JSON.stringify(other);
      expect(keyText(one) === keyText(other)).toBe(isSame);
    }),
  );
});

test("texts sort as the store sorts keys: by group, resource, namespace and name", () => {
  const at = (group: string, resource: string, namespace: string, name: string) =>
    keyText({ group, resource, namespace, name });
  const sorted = [
    at("", "pods", "a", "z"),
    at("", "pods", "a-b", "a"),
    at("", "pods", "b", "a"),
    at("batch", "jobs", "a", "a"),
  ];
  expect([...sorted].reverse().sort()).toEqual(sorted);
});
