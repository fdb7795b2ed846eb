import { expect, test } from "vitest";
import { deferred, keyedSerializer, serializer } from "./index.ts";

test("work runs one after the other, in the order of the calls, also after a failure", async () => {
  const inTurn = serializer();
  const first = deferred<void>();
  const order: string[] = [];
  const one = inTurn(async () => {
    await first.promise;
    order.push("one");
    throw new Error("one failed");
  });
  const two = inTurn(() => order.push("two"));
  first.resolve();
  await expect(one).rejects.toThrow("one failed");
  expect(await two).toBe(2);
  expect(order).toEqual(["one", "two"]);
});

test("work of different keys does not wait for each other", async () => {
  const inTurn = keyedSerializer<string>();
  const first = deferred<void>();
  const slow = inTurn("a", () => first.promise);
  const behind = inTurn("a", () => "behind");
  expect(await inTurn("b", () => "at once")).toBe("at once");
  first.resolve();
  await slow;
  expect(await behind).toBe("behind");
});
