import { expect, test } from "vitest";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { Node } from "#kernel/model/index.ts";
import { readStatus, statusText } from "./status.ts";

test("a port that is needed and cannot be opened is degraded, and not among the ports", async () => {
  const ports = [
    { serves: "wharf-api", address: "127.0.0.1:5001" },
    { serves: "agents", address: "127.0.0.1:42113", trouble: "failed to open the port; retrying: EMFILE" },
  ];
  const client = Object.assign(memoryClient({ types: [Node] }), {
    raw: async (path: string) => (path === "/slipway/status" ? JSON.stringify({ url: "https://x", ports }) : "ok"),
  });
  const status = await readStatus(client, new AbortController().signal);
  expect(status.ports).toEqual([{ serves: "wharf-api", address: "127.0.0.1:5001" }]);
  expect(status.degraded).toEqual(["agents: failed to open the port; retrying: EMFILE"]);
  expect(statusText(status)).toContain("Degraded:\n  agents: failed to open the port");
});
