import { expect, test, vi } from "vitest";
import { seededRandom } from "#kernel/kit/testing/index.ts";
import { Manager } from "#kernel/kit/index.ts";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { Application, ApplicationRevision } from "../kinds.ts";
import { clientWith, fakeApp } from "../ops/testing/fake-scope.ts";
import { Insight } from "../schema/insight.ts";
import { SecurityProfile } from "../schema/security-profile.ts";
import { addInsightController } from "./insight-controller.ts";
import { measure, withinWindow } from "./metrics.ts";
import { addSecurityController, isAudited, profileStatus, workflowAccount } from "./security.ts";

const now = Date.UTC(2026, 5, 30);
const at = (daysAgo: number, seconds = 0) => new Date(now - daysAgo * 86_400_000 + seconds * 1000).toISOString();
const record = (revision: string, daysAgo: number, succeeded: boolean, lead = 60) => ({
  revision,
  createdTime: at(daysAgo, -lead),
  endTime: at(daysAgo),
  succeeded,
});

test("lead time, frequency, time to repair and failure rate follow from the ends of runs", () => {
  const records = [
    record("a-v1", 28, true, 60),
    record("a-v2", 21, false),
    record("a-v3", 20, false),
    record("a-v4", 19, true, 120),
    record("a-v5", 1, true, 600),
  ];
  expect(measure(records, {}, now)).toEqual({
    window: "90d",
    deliveries: 5,
    leadTimeSeconds: { p50: 120, p90: 600 },
    deploysPerWeek: 0.75,
    mttrSeconds: { p50: 2 * 86_400, p90: 2 * 86_400 },
    changeFailureRate: 0.4,
  });
  expect(measure(records, { leadTime: "disabled", frequency: "disabled", mttr: "disabled" }, now)).toEqual({
    window: "90d",
    deliveries: 5,
    changeFailureRate: 0.4,
  });
  expect(measure([], {}, now)).toEqual({ window: "90d", deliveries: 0, deploysPerWeek: 0 });
});

test("records are kept once, for the window only, and as they were first known", () => {
  const known = [record("a-v1", 91, true), record("a-v2", 2, true, 500)];
  const found = [record("a-v2", 2, true, 1), record("a-v3", 1, false)];
  expect(withinWindow(known, found, now)).toEqual([known[1], found[1]]);
});

test("an Insight and a SecurityProfile get their status from a running controller", async () => {
  const client = clientWith([Application, ApplicationRevision]);
  const manager = new Manager({ client, clock: systemClock, log: silentLog, random: seededRandom(1) });
  addInsightController(manager);
  addSecurityController(manager);
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  const metadata = (name: string) => ({ name, namespace: "default", labels: { "app.oam.dev/name": "shop" } });
  // The proposal's policy renders an Insight with nothing but the frequency.
  await client.create(Insight, {
    apiVersion: "app.oam.dev/v1",
    kind: "Insight",
    metadata: metadata("i"),
    spec: { frequency: "enabled" },
  });
  const spec = { rbac: "enabled", serviceAccountName: "shop-workflow", audit: "enabled" } as const;
  await client.create(SecurityProfile, {
    apiVersion: "app.oam.dev/v1",
    kind: "SecurityProfile",
    metadata: metadata("p"),
    spec,
  });
  const policies = [{ name: "s", type: "security", properties: { rbac: "enabled" } }];
  await client.create(Application, {
    apiVersion: "core.oam.dev/v1beta1",
    kind: "Application",
    metadata: { name: "shop", namespace: "default" },
    spec: { components: [], policies },
  });
  const revision = {
    apiVersion: "core.oam.dev/v1beta1",
    kind: "ApplicationRevision",
    metadata: metadata("shop-v1"),
    spec: { application: {} },
  };
  await client.create(ApplicationRevision, revision);
  const body = { status: { succeeded: true, workflow: { endTime: new Date().toISOString() } } };
  const ref = { type: ApplicationRevision, namespace: "default", name: "shop-v1" };
  await client.patch(ref, { type: "merge", body }, { subresource: "status" });
  await vi.waitFor(async () => {
    expect(await client.get({ type: Insight, namespace: "default", name: "i" })).toMatchObject({
      status: { deliveries: 1, changeFailureRate: 0, records: [{ revision: "shop-v1", succeeded: true }] },
    });
    expect(await client.get({ type: SecurityProfile, namespace: "default", name: "p" })).toMatchObject({
      status: {
        serviceAccount: "shop-workflow",
        message: expect.stringMatching(
          /^steps have only the rights that both shop-workflow and the writers .*; operations are not recorded$/,
        ) as string,
      },
    });
  });
  stop.abort();
  await running;
});

test("the policy security names the account of the workflow, if rights are limited", () => {
  const app = (properties: Readonly<Record<string, string>>) => ({
    ...fakeApp([]),
    policies: [{ name: "s", type: "security", properties }],
  });
  expect(workflowAccount(app({ rbac: "enabled", audit: "enabled" }))).toBe("shop-workflow");
  expect(workflowAccount(app({ rbac: "disabled" }))).toBeUndefined();
  expect([isAudited(app({ audit: "enabled" })), isAudited(app({})), isAudited(fakeApp([]))]).toEqual([
    true,
    false,
    false,
  ]);
});

test("attack: a profile claims only what the application's own policy puts into force", () => {
  const application = (properties: Readonly<Record<string, string>>) => ({
    metadata: { name: "shop" } as never,
    spec: { policies: [{ name: "s", type: "security", properties }] },
  });
  expect(profileStatus({}, undefined)).toEqual({ message: "the application does not exist, so nothing is in force" });
  expect(profileStatus({ secretBackend: "vault" }, application({}))).toEqual({
    message: expect.stringMatching(
      /^the workflow has the rights of its writers; operations are not recorded; .* vault is not supported/,
    ) as string,
  });
  const all = profileStatus({}, application({ rbac: "enabled", audit: "enabled" }));
  expect(all).toMatchObject({ serviceAccount: "shop-workflow" });
  expect(all.message).toContain("recorded as Events");
});
