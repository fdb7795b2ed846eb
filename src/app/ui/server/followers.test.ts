import { expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { followers } from "./followers.ts";
import type { Following, Line } from "./following.ts";

test("a short list begins with all items at once, so that a page which was away forgets those that went meanwhile", async () => {
  const clock = new FakeClock();
  const type = { group: "slipway.dev", plural: "workflows" };
  const waitingIn = (name: string) => ({
    type,
    namespace: "default",
    summary: { dialect: "workflow", name, ref: { kind: "Workflow", namespace: "default", name } },
    waiting: [{ step: "ask", message: "Go on?" }],
  });
  let runs = [waitingIn("a"), waitingIn("b")];
  let changed = (): void => undefined;
  const index = { list: () => runs, subscribe: (listener: () => void) => ((changed = listener), () => undefined) };
  const lines: Line[] = [];
  const stop = new AbortController();
  const following = {
    context: { index: async () => index, clock, log: silentLog, dialects: [] },
    caller: { mayList: () => true },
    subscription: { id: "1", what: "approvals", params: {} },
    emit: (line: Line) => void lines.push(line),
    signal: stop.signal,
  } as unknown as Following;
  const followed = followers.approvals(following);
  await clock.advance(1000);
  expect(lines).toMatchObject([{ type: "BOOKMARK", object: [{ run: { name: "a" } }, { run: { name: "b" } }] }]);
  runs = [waitingIn("b"), waitingIn("c")];
  changed();
  await clock.advance(1000);
  expect(lines.slice(1)).toMatchObject([
    { type: "DELETED", object: { run: { name: "a" } } },
    { type: "ADDED", object: { run: { name: "c" } } },
  ]);
  stop.abort();
  await followed;
});
