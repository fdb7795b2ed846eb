import fc from "fast-check";
import { expect, test } from "vitest";
import { RowHeights } from "./row-heights.ts";

const line = 20;

test("rows follow each other without a gap, whichever were measured, and each height finds its row", () => {
  const drawn = fc.array(fc.tuple(fc.nat({ max: 40 }), fc.integer({ min: 1, max: 6 })), { maxLength: 30 });
  fc.assert(
    fc.property(drawn, fc.nat({ max: 3000 }), (measured, top) => {
      const heights = new RowHeights(line);
      const known = new Map<number, number>();
      for (const [row, lines] of measured) {
        const change = heights.set(row, lines * line);
        expect(change).toBe(lines * line - (known.get(row) ?? line));
        known.set(row, lines * line);
      }
      let sum = 0;
      for (let row = 0; row < 50; row += 1) {
        expect(heights.topOf(row)).toBe(sum);
        sum += known.get(row) ?? line;
      }
      const { row, inside } = heights.at(top);
      expect(heights.topOf(row) + inside).toBe(top);
      expect(inside).toBeGreaterThanOrEqual(0);
      expect(inside).toBeLessThan(known.get(row) ?? line);
    }),
  );
});
