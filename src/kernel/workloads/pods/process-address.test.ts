import { expect, test } from "vitest";
import type { PodObject } from "../pod-types.ts";
import { processAddress } from "./process-address.ts";

const pod = (uid: string, fieldPath?: string): PodObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", uid },
  spec: {
    containers: [
      {
        name: "c",
        image: "i",
        env: fieldPath === undefined ? [] : [{ name: "IP", valueFrom: { fieldRef: { fieldPath } } }],
      },
    ],
  },
});

test("a pod that asks for its address gets a loopback address of its own, others share the node's", () => {
  const own = (uid: string) => processAddress(pod(uid, "status.podIP"), "127.0.0.1", "linux");
  expect(own("a")).toMatch(/^127\.[1-9]\d*\.\d+\.[1-9]\d*$/);
  expect(own("a")).toBe(own("a"));
  expect(own("a")).not.toBe(own("b"));
  expect(processAddress(pod("a", "status.hostIP"), "127.0.0.1", "linux")).toBe("127.0.0.1");
  expect(processAddress(pod("a"), "127.0.0.1", "linux")).toBe("127.0.0.1");
  expect(processAddress(pod("a", "status.podIP"), "127.0.0.1", "darwin")).toBe("127.0.0.1");
});
