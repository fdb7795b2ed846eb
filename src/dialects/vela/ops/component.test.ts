import { expect, test } from "vitest";
import { Deployment } from "#kernel/model/index.ts";
import { application, component, definitionSpecs, testDefinitions, testDelivery } from "../testing/fixtures.ts";
import { applyComponent } from "./component.ts";

test("a trait of stage PostDispatch is applied only once the workload is healthy", async () => {
  const web = component("web", "webservice", {
    properties: { image: "nginx" },
    traits: [{ type: "expose", properties: {} }],
  });
  const definitions = testDefinitions({ ...definitionSpecs, "trait/expose": { stage: "PostDispatch" } });
  const app = application({ components: [web] });
  const { delivery, client } = testDelivery(app, { definitions });
  const scope = { delivery, client, app, signal: new AbortController().signal };
  const request = { component: web, cluster: "local", waitHealthy: true };
  expect(await applyComponent(scope, request)).toMatchObject({ kind: "wait", outputs: { service: undefined } });
  // Without a wait for health, it still waits for what it has not applied.
  expect(await applyComponent(scope, { ...request, waitHealthy: false })).toMatchObject({ kind: "wait" });
  expect(client.writes.filter((write) => write.includes("Service"))).toEqual([]);
  const live = await client.get({ type: Deployment, namespace: "default", name: "web" });
  const status = {
    observedGeneration: live.metadata.generation ?? 1,
    replicas: 1,
    updatedReplicas: 1,
    readyReplicas: 1,
  };
  const conditions = [{ type: "Available", status: "True" }];
  await client.updateStatus(Deployment, { ...live, status: { ...status, conditions } });
  expect(await applyComponent(scope, request)).toMatchObject({
    kind: "healthy",
    outputs: { service: { kind: "Service" } },
  });
});
