import { credentials } from "@grpc/grpc-js";
import { createHash } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { Secret } from "#kernel/model/index.ts";
import { workflowV1 } from "#kernel/rpc/index.ts";
import { CertificateFolder } from "#test/support/certificates.ts";
import { action } from "../testing/states.ts";
import { tokenSecret } from "./identity.ts";
import { Place, TestAgent } from "./testing/place.ts";

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function start(options: Parameters<typeof Place.start>[0]): Promise<Place> {
  const place = await Place.start({ pollHold: 0, ...options });
  closers.push(() => place.close());
  return place;
}

const poll = <T>(read: () => T) => expect.poll(read, { interval: 5 });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const codeOf = async (agent: TestAgent) => (await agent.stream.end.promise)?.code;

test("an agent with a token speaks for the id it is for, and one with the token of all for any", async () => {
  const place = await start({ auth: { mode: "token", namespace: "default" } });
  const tokens = { "token-a": "agent-a", join: "*" };
  const data = Object.fromEntries(
    Object.entries(tokens).map(([token, id]) => [createHash("sha256").update(token).digest("hex"), btoa(id)]),
  );
  expect(await codeOf(place.agent("agent-a", bearer("token-a")))).toBe("UNAUTHENTICATED");
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: tokenSecret, namespace: "default" }, data };
  await place.store.create(Secret, secret);
  const agent = place.agent("agent-a", bearer("token-a"));
  const joined = place.agent("agent-b", bearer("join"));
  await joined.stream.headers.promise;
  const id = await place.create("wf");
  await poll(() => agent.told).toEqual(["start wf: one two"]);
  expect(await codeOf(place.agent("agent-b", bearer("token-a")))).toBe("PERMISSION_DENIED");
  expect(await codeOf(place.agent("agent-a"))).toBe("UNAUTHENTICATED");
  expect(await codeOf(place.agent("agent-a", bearer("token-x")))).toBe("UNAUTHENTICATED");
  const other = await place.create("other", { agentID: "agent-b", actions: [action("one", {}, "agent-b")] });
  expect(await agent.tell(other, { is: "started" }, bearer("token-a"))).toBe("PERMISSION_DENIED");
  expect(await agent.tell(id, { is: "started" }, bearer("token-a"))).toBe("OK");
  expect(await agent.client.unary(workflowV1.WorkflowService.method.getAction, { agentId: "agent-a" })).toMatchObject({
    code: "UNAUTHENTICATED",
  });
});

test("a token that is taken back ends what it has opened, and leaves the others alone", async () => {
  const place = await start({ auth: { mode: "token", namespace: "default" }, pollHold: 60_000 });
  const entry = (token: string, id: string) => [createHash("sha256").update(token).digest("hex"), btoa(id)] as const;
  const tokens = (all: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(all).map(([token, id]) => entry(token, id)));
  const data = tokens({ "token-a": "agent-a", "token-b": "agent-b", "token-c": "agent-c", "token-d": "agent-d" });
  const metadata = { name: tokenSecret, namespace: "default" };
  await place.store.create(Secret, { apiVersion: "v1", kind: "Secret", metadata, data });
  const ref = { type: Secret, name: tokenSecret, namespace: "default" };
  const [taken, kept, given] = ["a", "b", "c"].map((each) => place.agent(`agent-${each}`, bearer(`token-${each}`)));
  for (const agent of [taken, kept, given]) await agent?.stream.headers.promise;
  const { getAction } = workflowV1.WorkflowService.method;
  const asking = place.client().unary(getAction, { agentId: "agent-d" }, bearer("token-d"));
  await poll(() => place.agentStatus("agent-d").catch(() => undefined)).toMatchObject({ connected: true });
  // The token of c is another agent's from now on.
  const next = tokens({ "token-b": "agent-b", "token-c": "agent-x" });
  await place.store.update(Secret, { ...(await place.store.get(ref)), data: next });
  expect(await taken?.stream.end.promise).toMatchObject({
    code: "UNAUTHENTICATED",
    message: "the token is not valid any more",
  });
  expect((await given?.stream.end.promise)?.code).toBe("UNAUTHENTICATED");
  await poll(async () => (await place.agentStatus("agent-a"))?.connected).toBe(false);
  const id = await place.create("wf", { agentID: "agent-b" });
  await poll(() => kept?.told).toEqual(["start wf: one two"]);
  expect(await kept?.tell(id, { is: "started" }, bearer("token-b"))).toBe("OK");
  // Who asks is told nothing of what comes for it.
  await place.create("late", { agentID: "agent-d" });
  expect(await asking).toMatchObject({ code: "UNAUTHENTICATED" });
  expect((await place.state("late")).phase).toBe("Pending");
  await place.store.delete(ref);
  expect((await kept?.stream.end.promise)?.code).toBe("UNAUTHENTICATED");
});

test("an agent with a certificate speaks for the id in it; without one it gets no connection", async () => {
  const folder = await CertificateFolder.create();
  closers.push(() => folder.close());
  await folder.sign("server", "server");
  await folder.sign("client", "agent-a", "DNS:02-00-00-00-00-01");
  const tls = {
    certificate: folder.file("server.crt"),
    key: folder.file("server.key"),
    clientCa: folder.file("ca.crt"),
  };
  const place = await start({ auth: { mode: "mtls" }, tls });
  const proved = credentials.createSsl(folder.read("ca.crt"), folder.read("client.key"), folder.read("client.crt"));
  const agent = new TestAgent(place.client(proved), "agent-a", {});
  await agent.stream.headers.promise;
  await new TestAgent(place.client(proved), "02:00:00:00:00:01", {}).stream.headers.promise;
  expect(await codeOf(new TestAgent(place.client(proved), "agent-b", {}))).toBe("PERMISSION_DENIED");
  expect(await codeOf(new TestAgent(place.client(credentials.createSsl(folder.read("ca.crt"))), "agent-a", {}))).toBe(
    "UNAVAILABLE",
  );
});
