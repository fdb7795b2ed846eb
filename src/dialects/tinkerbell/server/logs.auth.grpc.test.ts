import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { Secret } from "#kernel/model/index.ts";
import { agentV1 } from "#kernel/rpc/index.ts";
import { isRefused } from "#kernel/rpc/testing/index.ts";
import { action } from "../testing/states.ts";
import { tokenSecret } from "./identity.ts";
import { Place } from "./testing/place.ts";

const closings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
});

/** A server on which the token of an agent is its id. */
async function start(...agents: readonly string[]): Promise<Place> {
  const directory = await mkdtemp(join(tmpdir(), "slipway-tinklogs-"));
  const place = await Place.start({ logs: { directory }, auth: { mode: "token", namespace: "default" } });
  closings.push(
    () => rm(directory, { recursive: true, force: true }),
    () => place.close(),
  );
  const data = Object.fromEntries(agents.map((id) => [createHash("sha256").update(id).digest("hex"), btoa(id)]));
  const metadata = { name: tokenSecret, namespace: "default" };
  await place.store.create(Secret, { apiVersion: "v1", kind: "Secret", metadata, data });
  return place;
}

async function push(place: Place, agent: string, workflowId: string, actionId: string): Promise<string> {
  const chunk = { workflowId, actionId, stream: agentV1.LogChunk_Stream.STDOUT, data: Buffer.from("x\n"), seq: 1n };
  const headers = { authorization: `Bearer ${agent}` };
  const call = place.client().clientStream(agentV1.AgentService.method.pushLogs, [chunk], { headers });
  const answer = await call.answer;
  return isRefused(answer) ? answer.code : "OK";
}

test("the log of an action is that of the agent of its task: not of another one that has a part in the workflow", async () => {
  const place = await start("agent-a", "agent-b", "agent-c");
  const actions = [action("one", {}, "agent-a"), action("two", {}, "agent-b")];
  const id = await place.create("w", { actions });
  await expect.poll(() => push(place, "agent-a", id, "id-one")).toBe("OK");
  expect(await push(place, "agent-a", id, "id-two")).toBe("PERMISSION_DENIED");
  await place.write("w", (state) => ({ ...state, agentID: "agent-b" }));
  expect(await push(place, "agent-b", id, "id-two")).toBe("OK");
  expect(await push(place, "agent-b", id, "id-one")).toBe("PERMISSION_DENIED");
  // What it still has when it is the turn of the other.
  expect(await push(place, "agent-a", id, "id-one")).toBe("OK");
  expect(await push(place, "agent-c", id, "id-one")).toBe("PERMISSION_DENIED");
});
