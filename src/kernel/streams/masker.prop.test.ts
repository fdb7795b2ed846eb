import fc from "fast-check";
import { expect, test } from "vitest";
import { Masker } from "./masker.ts";

const letters = fc.string({ unit: fc.constantFrom("a", "b", "\n"), minLength: 0, maxLength: 12 });
const text = fc.string({ unit: fc.constantFrom("a", "b", "\n", " "), maxLength: 60 });

const whole = (values: readonly string[], bytes: Buffer): string => {
  const masker = new Masker(values);
  return Buffer.concat([masker.take(bytes), masker.end()]).toString();
};

test("what comes out does not depend on how the output is cut, and holds no line of a value", () => {
  fc.assert(
    fc.property(fc.array(letters, { maxLength: 4 }), text, fc.array(fc.nat()), (values, output, cuts) => {
      const bytes = Buffer.from(output);
      const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
      const masker = new Masker(values);
      const parts = places.slice(1).map((to, index) => masker.take(bytes.subarray(places[index], to)));
      const shown = Buffer.concat([...parts, masker.end()]).toString();
      expect(shown).toBe(whole(values, bytes));
      const lines = values.flatMap((value) => value.split("\n")).filter((line) => line.length >= 4);
      for (const line of lines) expect(shown).not.toContain(line);
      if (lines.every((line) => !output.includes(line))) expect(shown).toBe(output);
    }),
  );
});
