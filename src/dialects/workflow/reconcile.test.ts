import { afterEach, expect, test } from "vitest";
import { Harness, type HarnessOptions, job } from "./testing/harness.ts";

let open: Harness | undefined;
function start(options?: HarnessOptions): Harness {
  open = new Harness(options);
  return open;
}
afterEach(async () => {
  await open?.close();
  open = undefined;
});

test("a diamond and a step apart run in the order of their edges and complete", async () => {
  const run = start();
  await run.create({
    steps: {
      one: job(),
      two: job({ dependencies: ["one"] }),
      three: job({ dependencies: ["one"] }),
      four: job({ dependencies: ["two", "three"] }),
      apart: job(),
    },
  });
  expect(await run.active()).toEqual(["apart", "one"]);
  await run.end("one");
  expect(await run.active()).toEqual(["apart", "three", "two"]);
  await run.end("two");
  expect(await run.active()).toEqual(["apart", "three"]);
  await run.end("three");
  expect(await run.active()).toEqual(["apart", "four"]);
  await run.end("four");
  await run.end("apart");
  const status = await run.status();
  expect(status).toMatchObject({ phase: "Succeeded", progress: "5/5", completionTime: expect.any(String) });
  expect(status.conditions?.find(({ type }) => type === "Complete")).toMatchObject({ status: "True" });
  expect(Object.values(status.statuses ?? {}).map(({ complete }) => complete)).toEqual([true, true, true, true, true]);
});
