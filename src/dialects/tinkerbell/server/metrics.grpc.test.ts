import { expect, test } from "vitest";
import { Place } from "./testing/place.ts";

test("agents, dispatches, events and calls are counted", async () => {
  const place = await Place.start();
  try {
    const agent = place.agent();
    const id = await place.create("wf");
    await expect.poll(() => agent.told.length).toBe(1);
    await agent.tell(id, { is: "started" });
    await agent.tell(id, { is: "started", action: "two" });
    await agent.tell(id, { is: "rejected" });
    const samples = place.metrics
      .collect()
      .flatMap((family) => ("samples" in family ? family.samples.map((sample) => [family.name, sample] as const) : []))
      .filter(([name]) => /tink_(?:dispatch|events|agents)|grpc_server_handled/.test(name))
      .map(([name, { labels, value }]) => `${name} ${Object.values(labels).join(" ")} ${value}`);
    expect(samples).toEqual([
      "grpc_server_handled_total unary internal.proto.workflow.v2.WorkflowService PublishEvent OK 2",
      "grpc_server_handled_total unary internal.proto.workflow.v2.WorkflowService PublishEvent FAILED_PRECONDITION 1",
      "slipway_tink_agents stream true 1",
      "slipway_tink_agents poll true 0",
      "slipway_tink_dispatch_total sent 1",
      "slipway_tink_events_total started OK 1",
      "slipway_tink_events_total started FAILED_PRECONDITION 1",
      "slipway_tink_events_total rejected OK 1",
    ]);
  } finally {
    await place.close();
  }
});
