import { expect, test } from "vitest";
import { type Candidate, Slots } from "./slots.ts";

const waiting = (key: string, createdAt: number, buildRef = 0): Candidate => ({
  key,
  createdAt,
  buildRef,
  isAtWork: false,
  isWaiting: true,
});
const atWork = (key: string): Candidate => ({ key, createdAt: 0, buildRef: 0, isAtWork: true, isWaiting: false });

test("without a limit everybody starts", () => {
  const slots = new Slots(0);
  expect(
    slots.take(
      "a",
      Array.from({ length: 100 }, (_, at) => atWork(`${at}`)),
    ),
  ).toBe(true);
});

test("the oldest goes first, whoever asks first", () => {
  const slots = new Slots(2);
  const all = [waiting("young", 3), waiting("old", 1), waiting("middle", 2)];
  expect(slots.take("young", all)).toBe(false);
  expect(slots.take("middle", all)).toBe(true);
  expect(slots.take("young", all)).toBe(false);
  expect(slots.take("old", all)).toBe(true);
  expect(slots.take("young", all)).toBe(false);
});

test("of one second the earlier build goes first", () => {
  const slots = new Slots(1);
  const all = [waiting("b", 1, 12), waiting("c", 1, 3)];
  expect([slots.take("b", all), slots.take("c", all)]).toEqual([false, true]);
});

test("a slot is held until what is stored tells of it, and free when its worker has ended", () => {
  const slots = new Slots(1);
  const all = [waiting("a", 1), waiting("b", 2)];
  expect(slots.take("a", all)).toBe(true);
  expect(slots.take("a", all)).toBe(true);
  expect(slots.take("b", all)).toBe(false);
  slots.settle("a");
  expect(slots.take("b", [atWork("a"), waiting("b", 2)])).toBe(false);
  expect(slots.take("b", [{ ...atWork("a"), isAtWork: false }, waiting("b", 2)])).toBe(true);
});
