import fc from "fast-check";
import { expect, test } from "vitest";
import { asText } from "../definition/scalar.ts";
import { createSubstituter, isFailure } from "./substitute.ts";
import { resolveVariables } from "./variable.ts";

const pieces = fc
  .array(fc.constantFrom("${", "}", "%", "$", "{", " ", "a", "b", "\n", "é"))
  .map((parts) => parts.join(""));
const variables = fc
  .dictionary(fc.constantFrom("a", "b", "ab", "a b"), pieces)
  .map((texts) =>
    resolveVariables(
      Object.entries(texts).map(([name, text]) => ({ name, ...asText(text), source: "variable files" })),
    ),
  );

test("a text without ${ is what it was", () => {
  fc.assert(
    fc.property(fc.string(), variables, (text, known) => {
      fc.pre(!text.includes("${"));
      expect(createSubstituter(known).substitute(text)).toMatchObject({ scalar: { tag: "string", text } });
    }),
  );
});

/** As a user escapes a reference. */
const escaped = (text: string): string => text.replaceAll(/\$\{([^}]*)\}/g, (_whole, body: string) => `\${%${body}%}`);

test("a text that was escaped becomes the text, whatever variables there are", () => {
  fc.assert(
    fc.property(pieces, variables, (text, known) => {
      expect(createSubstituter(known).substitute(escaped(text))).toMatchObject({ scalar: { text } });
    }),
  );
});

test("whether a variable was expanded before changes nothing", () => {
  fc.assert(
    fc.property(pieces, pieces, variables, (first, second, known) => {
      const warm = createSubstituter(known);
      warm.substitute(first);
      const [late, fresh] = [warm.substitute(second), createSubstituter(known).substitute(second)];
      expect(isFailure(late) ? late.code : late.scalar).toEqual(isFailure(fresh) ? fresh.code : fresh.scalar);
    }),
  );
});
