import { expect, test } from "vitest";
import { compareQuantities, formatQuantity, parseQuantity, type Quantity, quantityToNumber } from "./index.ts";

const parse = (text: string): Quantity => {
  const quantity = parseQuantity(text);
  if (!quantity.ok) throw new Error(quantity.error);
  return quantity.value;
};

test.each([
  ["0", 0],
  ["1", 1],
  ["+1", 1],
  ["-1.5", -1.5],
  [".5", 0.5],
  ["5.", 5],
  ["500m", 0.5],
  ["1u", 0.000001],
  ["1n", 1e-9],
  ["2k", 2000],
  ["1M", 1e6],
  ["1E", 1e18],
  ["1Ki", 1024],
  ["1.5Gi", 1.5 * 2 ** 30],
  ["1Ei", 2 ** 60],
  ["1e3", 1000],
  ["1E3", 1000],
  ["5e-3", 0.005],
])("%s is %d", (text, value) => {
  expect(quantityToNumber(parse(text))).toBe(value);
});

test.each([
  "",
  "-",
  "+",
  ".",
  "1 Gi",
  "Gi",
  "1gi",
  "1KI",
  "1K",
  "1mi",
  "1e",
  "1e1.5",
  "1Gi1",
  "0x1",
  "1_000",
  "∞",
  "1".repeat(65),
])("%j is no quantity", (text) => {
  expect(parseQuantity(text)).toMatchObject({ ok: false, error: expect.stringContaining("expected a quantity") });
});

test.each([
  ["0", "0"],
  ["0Gi", "0"],
  ["1", "1"],
  ["1000", "1k"],
  ["1500", "1500"],
  ["1.5", "1500m"],
  ["0.0001", "100u"],
  ["1024Ki", "1Mi"],
  ["1.5Gi", "1536Mi"],
  ["0.5Ki", "512"],
  ["1025Ki", "1025Ki"],
  ["1.5Ki", "1536"],
  ["0.5Mi", "512Ki"],
  ["100e3", "100e3"],
  ["1e1", "10"],
  ["5e-3", "5e-3"],
  ["-2000m", "-2"],
  ["-1Gi", "-1Gi"],
  ["0.1n", "1n"],
  ["-0.1n", "-1n"],
])("%s is written as %s", (text, canonical) => {
  expect(formatQuantity(parse(text))).toBe(canonical);
});

test("the format does not matter for the order", () => {
  expect(compareQuantities(parse("1Gi"), parse("1073741824"))).toBe(0);
  expect(compareQuantities(parse("1G"), parse("1Gi"))).toBeLessThan(0);
  expect(compareQuantities(parse("-1"), parse("-1001m"))).toBeGreaterThan(0);
});

test.each(["10E", "1e30", "1e999999999", "99999999999999999999"])(
  "%s is clamped to the largest 64 bit integer",
  (text) => {
    expect(parse(text).nano).toBe((2n ** 63n - 1n) * 1_000_000_000n);
    expect(parse(`-${text}`).nano).toBe(-(2n ** 63n - 1n) * 1_000_000_000n);
  },
);

test("a tiny amount rounds away from zero", () => {
  expect(parse("1e-999999999").nano).toBe(1n);
});
