import type { Environment } from "../harness/environment.ts";
import type { Benchmark, Measured } from "../harness/types.ts";
import { itemsPath } from "../ours/items.ts";
import { podsPath } from "../ours/pods-server.ts";
import { json, overTls, startListServer, table } from "./list-server.ts";
import { sized } from "../harness/sizes.ts";

const count = sized(10_000);
const bytes = 1_200;
const pageSize = 500;
const msEach = ({ ops, ms }: Measured): number => ms / ops;
const held = ({ heldMs = NaN }: Measured): number => heldMs;

/**
 * P4 and P5: 10,000 Pods, as JSON at once and by pages, and as a Table. What is measured is what a client on this machine waits for,
 * the last byte included; the targets are for the server's part of it.
 */
export function lists(environment: Environment): readonly Benchmark[] {
  const ours = () => startListServer(environment, "ours/pods-server", { path: podsPath, count, bytes });
  const bare = () => startListServer(environment, "floors/list", { path: itemsPath, count, bytes });
  const floor = overTls("concat", "floor", bare, json);
  return [
    {
      id: "P4",
      title: "list of 10,000 Pods",
      candidates: [
        floor,
        overTls("JSON", "ours", ours, json),
        overTls("pages", "ours", ours, { ...json, limit: pageSize }),
      ],
      lines: [
        {
          metric: "list of Pods as JSON over TLS",
          unit: "ms",
          better: "less",
          value: msEach,
          ours: "JSON",
          floor: "concat",
          hold: [{ ratio: 150 }],
        },
        { metric: "event loop held", unit: "ms", better: "less", value: held, ours: "JSON", hold: [{ ratio: 50 }] },
        {
          metric: `list of Pods, ${pageSize} by ${pageSize}`,
          unit: "ms",
          better: "less",
          value: msEach,
          ours: "pages",
          floor: "concat",
          hold: [{ ratio: 400 }],
        },
      ],
    },
    {
      id: "P5",
      title: "list of 10,000 Pods as Table",
      candidates: [floor, overTls("Table", "ours", ours, table)],
      lines: [
        {
          metric: "list of Pods as Table over TLS",
          unit: "ms",
          better: "less",
          value: msEach,
          ours: "Table",
          floor: "concat",
          hold: [{ ratio: 400 }],
        },
      ],
    },
  ];
}
