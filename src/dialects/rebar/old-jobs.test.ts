import { expect, test } from "vitest";
import type { Job } from "./objects.ts";
import { excessOf, mostJobs } from "./old-jobs.ts";

const job = (Machine: string, at: number, more: Partial<Job> = {}): Job =>
  ({ Uuid: `${Machine}-${at}`, Machine, State: "finished", StartTime: String(at).padStart(6, "0"), ...more }) as Job;

test("the oldest jobs beyond the limit of a machine go, but not those that have not ended", () => {
  const many = Array.from({ length: mostJobs + 3 }, (_, at) => job("m1", at)).reverse();
  const others = [job("m2", 0), job("m2", 1)];
  const kept = [job("m1", -2, { Current: true }), job("m1", -1, { State: "incomplete" })];
  expect(excessOf([...many, ...others]).map(({ Uuid }) => Uuid)).toEqual(["m1-0", "m1-1", "m1-2"]);
  expect(excessOf([...many, ...kept]).map(({ Uuid }) => Uuid)).toEqual(["m1-0", "m1-1", "m1-2", "m1-3", "m1-4"]);
  expect(excessOf(many.slice(3))).toEqual([]);
});
