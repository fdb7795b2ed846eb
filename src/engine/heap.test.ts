import { expect, test } from "vitest";
import { type IntHeap, popLeast, pushLeast } from "./heap.ts";

test("a heap gives back what it was given, least first", () => {
  const heap: IntHeap = [];
  for (const value of [5, 3, 9, 1, 3, 7, 0, 8]) pushLeast(heap, value);
  expect(heap[0]).toBe(0);
  const taken = Array.from({ length: 9 }, () => popLeast(heap));
  expect(taken).toEqual([0, 1, 3, 3, 5, 7, 8, 9, undefined]);
});
