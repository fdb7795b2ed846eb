import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { agentsOfHardware } from "./hardware.ts";

const one = "02:00:00:00:00:01";
const two = "02:00:00:00:00:02";
const networkInterfaces = { [one]: {}, [two]: {} };
const interfaces = [{ dhcp: { mac: one } }, { netboot: {} }, { dhcp: { mac: two } }];
const annotations = { "tinkerbell.org/agent-id": "annotated" };

const agentsOf = (spec: JsonObject, told?: Readonly<Record<string, string>>) =>
  agentsOfHardware({
    apiVersion: "tinkerbell.org/v1alpha2",
    kind: "Hardware",
    metadata: { name: "h", ...(told === undefined ? {} : { annotations: told }) },
    spec,
  });

test("a machine's agent is who it is said to be, else the annotation, else whoever has one of its addresses", () => {
  expect(agentsOf({ agentID: "named", networkInterfaces }, annotations)).toEqual(["named"]);
  expect(agentsOf({ agentID: "", networkInterfaces }, annotations)).toEqual(["annotated"]);
  expect(agentsOf({ networkInterfaces })).toEqual([one, two]);
  expect(agentsOf({ interfaces })).toEqual([one, two]);
  expect(agentsOf({})).toEqual([]);
});

test("an address in two spellings is one agent", () => {
  expect(agentsOf({ networkInterfaces: { [one]: {}, "02-00-00-00-00-01": {}, [two]: {} } })).toHaveLength(2);
});
