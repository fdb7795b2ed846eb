import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Agent } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { acceptText, connectText, type TextSocket } from "./index.ts";

async function pair(): Promise<{ readonly near: TextSocket; readonly far: TextSocket }> {
  const server = createServer();
  const accepted = new Promise<TextSocket>((resolve) =>
    server.on(
      "upgrade",
      (request, socket, head) => void acceptText({ request, socket, head }, systemClock).then(resolve),
    ),
  );
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const agent = new Agent();
  const near = await connectText({
    url: `http://127.0.0.1:${port}/ws`,
    headers: {},
    agent,
    clock: systemClock,
    signal: new AbortController().signal,
  });
  const far = await accepted;
  onTestFinished(() => {
    near.cut();
    far.cut();
    server.close();
  });
  return { near, far };
}

test("texts travel in both directions, in order, and the end is told with its code", async () => {
  const { near, far } = await pair();
  const heard: string[] = [];
  const got = new Promise<void>((resolve) =>
    near.listen((text) => {
      heard.push(text);
      if (heard.length === 2) resolve();
    }),
  );
  far.listen((text) => void far.send(`${text} heard`));
  expect(await near.send("one")).toBe(true);
  expect(await near.send("zwö")).toBe(true);
  await got;
  expect(heard).toEqual(["one heard", "zwö heard"]);
  far.close(1013, "too slow");
  expect(await near.closed).toEqual({ code: 1013, reason: "too slow" });
  expect(await near.send("late")).toBe(false);
});
