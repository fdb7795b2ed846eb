import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "#test/support/property-runs.ts";
import { expandVariables } from "./expand.ts";

const values: Readonly<Record<string, string>> = { A: "1", B: "$(A)", EMPTY: "", "x.y-z": "dotted", $: "dollar" };
const valueOf = (name: string): string | undefined => (Object.hasOwn(values, name) ? values[name] : undefined);

/** The rules told once more, one character at a time, as Kubernetes' own scanner goes. */
function scanned(text: string): string {
  let out = "";
  for (let at = 0; at < text.length; at++) {
    const next = text[at + 1];
    if (text[at] !== "$" || next === undefined) out += text[at];
    else if (next === "$") {
      out += "$";
      at++;
    } else if (next === "(") {
      const end = text.indexOf(")", at);
      if (end < 0) out += "$";
      else {
        const name = text.slice(at + 2, end);
        out += valueOf(name) ?? `$(${name})`;
        at = end;
      }
    } else out += "$";
  }
  return out;
}

const piece = fc.constantFrom(
  "$",
  "$$",
  "(",
  ")",
  "$(",
  "$(A)",
  "$(B)",
  "$(EMPTY)",
  "$(NONE)",
  "$(x.y-z)",
  "$()",
  "A",
  " ",
);
const text = fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join(""));

test("expanding follows Kubernetes' scanner, whatever dollars and parentheses stand in whatever order", () => {
  fc.assert(
    fc.property(text, (one) => {
      expect(expandVariables(one, valueOf)).toBe(scanned(one));
    }),
    { numRuns: runs(2_000) },
  );
});

test("with every dollar doubled a text comes out as it was", () => {
  fc.assert(
    fc.property(fc.oneof(text, fc.string()), (one) => {
      expect(expandVariables(one.replaceAll("$", "$$$$"), valueOf)).toBe(one);
    }),
  );
});

test("a text without dollars is not looked into", () => {
  fc.assert(
    fc.property(fc.string(), (one) => {
      const plain = one.replaceAll("$", "");
      expect(expandVariables(plain, () => expect.fail("nothing refers to anything"))).toBe(plain);
    }),
  );
});
