import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonIndenter } from "./indent.ts";

const indented = (text: string): string => jsonIndenter()(Buffer.from(text)).toString();

test.each([
  [
    '{"a":1,"b":[],"c":{},"d":[1,{"e":"x"}]}',
    '{\n  "a": 1,\n  "b": [],\n  "c": {},\n  "d": [\n    1,\n    {\n      "e": "x"\n    }\n  ]\n}',
  ],
  ['{"a":"{,:}\\"[","b":"\\\\"}', '{\n  "a": "{,:}\\"[",\n  "b": "\\\\"\n}'],
  ["9007199254740993", "9007199254740993"],
  ["[1.0,-0,1e2]", "[\n  1.0,\n  -0,\n  1e2\n]"],
  ["[[]]", "[\n  []\n]"],
])("%s is laid out", (text, expected) => {
  expect(indented(text)).toBe(expected);
});

test("the layout is that of JSON.stringify, wherever the text is cut, and whatever its blanks are", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.array(fc.nat()), fc.constantFrom(0, 1, "\t"), (value, cuts, blanks) => {
      const bytes = Buffer.from(JSON.stringify(value, undefined, blanks));
      const indent = jsonIndenter();
      const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
      const parts = places.slice(1).map((to, index) => indent(bytes.subarray(places[index], to)));
      expect(Buffer.concat(parts).toString()).toBe(JSON.stringify(value, undefined, 2));
    }),
  );
});
