import { expect, test } from "vitest";
import { aborted, deferred, onAbort, orAborted } from "./index.ts";

const reason = new Error("not wanted any more");

test("work that ends in time is answered as it ends", async () => {
  const { signal } = new AbortController();
  expect(await orAborted(Promise.resolve(1), signal)).toBe(1);
  expect(await orAborted(Promise.resolve(2), undefined)).toBe(2);
  await expect(orAborted(Promise.reject(reason), signal)).rejects.toBe(reason);
});

test("nobody waits longer than the signal lets him, nor is told what becomes of the work", async () => {
  const [work, end] = [deferred<number>(), new AbortController()];
  const waiting = orAborted(work.promise, end.signal);
  end.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect(orAborted(work.promise, end.signal)).rejects.toBe(reason);
  work.reject(new Error("told to nobody"));
});

test("a listener runs once when the signal aborts, at once if it has, and not after it was removed", async () => {
  const end = new AbortController();
  const calls: string[] = [];
  onAbort(end.signal, () => calls.push("kept"));
  onAbort(end.signal, () => calls.push("removed"))();
  onAbort(undefined, () => calls.push("no signal"))();
  expect(calls).toEqual([]);
  end.abort();
  onAbort(end.signal, () => calls.push("late"));
  await aborted(end.signal);
  expect(calls).toEqual(["kept", "late"]);
});
