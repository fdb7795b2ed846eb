import { expect, test } from "vitest";
import { isDisturbed } from "./probes.ts";

const usual = { loop: 50, flush: 4 };

test("a probe within the factor two of the usual is quiet", () => {
  expect(isDisturbed({ loop: 100, flush: 2 }, usual)).toBe(false);
});

test.each([
  ["a slower processor", { loop: 101, flush: 4 }],
  ["a faster processor", { loop: 24, flush: 4 }],
  ["a slower disk", { loop: 50, flush: 9 }],
  ["a faster disk", { loop: 50, flush: 1.9 }],
])("%s is a disturbance", (_name, probe) => {
  expect(isDisturbed(probe, usual)).toBe(true);
});
