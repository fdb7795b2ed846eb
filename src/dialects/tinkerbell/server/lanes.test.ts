import { expect, test } from "vitest";
import { deferred } from "#lib/base/index.ts";
import { Lanes } from "./lanes.ts";

test("work of one key is done one after the other, also after a failure; other keys do not wait", async () => {
  const lanes = new Lanes();
  const done: string[] = [];
  const first = deferred<void>();
  const failing = lanes.run("a", async () => {
    await first.promise;
    done.push("a1");
    throw new Error("no");
  });
  const second = lanes.run("a", async () => void done.push("a2"));
  await lanes.run("b", async () => void done.push("b1"));
  first.resolve();
  await expect(failing).rejects.toThrow("no");
  await second;
  expect(done).toEqual(["b1", "a1", "a2"]);
});

test("too much of one key is refused and not done", async () => {
  const lanes = new Lanes();
  const gate = deferred<void>();
  const waiting = Array.from({ length: 64 }, () => lanes.run("a", () => gate.promise));
  await expect(lanes.run("a", () => Promise.reject(new Error("it was done")))).rejects.toMatchObject({
    code: "UNAVAILABLE",
  });
  gate.resolve();
  await Promise.all(waiting);
  expect(await lanes.run("a", async () => "again")).toBe("again");
});
