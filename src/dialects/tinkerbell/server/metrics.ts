import { type Clock, getOrAdd } from "#lib/base/index.ts";
import type { Metrics } from "#kernel/kit/index.ts";
import type { CallObserver, StatusName } from "#kernel/rpc/index.ts";
import type { AgentEvent, Verdict } from "../events.ts";

/** Call metrics have the names of gRPC's own servers, so that dashboards work. */
export interface ServerMetrics {
  readonly onSent: (how: "sent" | "resent") => void;
  readonly onJudged: (event: AgentEvent["is"], verdict: Verdict) => void;
  readonly observe: CallObserver;
}

export function serverMetrics(
  metrics: Metrics,
  clock: Clock,
  agents: { readonly stream: () => number; readonly poll: () => number },
): ServerMetrics {
  const dispatched = metrics.counter("slipway_tink_dispatch_total", "Workflows told to agents, and refused by them.");
  const events = metrics.counter("slipway_tink_events_total", "Events reported by agents, by type and answer.");
  metrics.gauge("slipway_tink_agents", "Agents that are connected, by protocol.", () =>
    (["stream", "poll"] as const).map((protocol) => ({
      labels: { protocol, connected: "true" },
      value: agents[protocol](),
    })),
  );
  return {
    onSent: (result) => dispatched.series({ result }).add(),
    onJudged(type, { code: result, state }) {
      events.series({ type, result }).add();
      // A late rejection does not count.
      if (type === "rejected" && state !== undefined) dispatched.series({ result: "rejected" }).add();
    },
    observe: callObserver(metrics, clock),
  };
}

/** Series are looked up once per method, not per call. */
function callObserver(metrics: Metrics, clock: Clock): CallObserver {
  const started = metrics.counter("grpc_server_started_total", "Calls that have begun.");
  const handled = metrics.counter("grpc_server_handled_total", "Calls that have ended, by code.");
  const seconds = metrics.histogram("grpc_server_handling_seconds", "Time from the begin of a call to its end.");
  const counted = (labels: Readonly<Record<string, string>>) => ({
    begun: started.series(labels),
    took: seconds.series(labels),
    ended: remembered((grpc_code: StatusName) => handled.series({ ...labels, grpc_code })),
  });
  const methods = new Map<string, ReturnType<typeof counted>>();
  return ({ service, method, type }) => {
    const name = `${service}/${method}`;
    let of = methods.get(name);
    if (of === undefined)
      methods.set(name, (of = counted({ grpc_type: type, grpc_service: service, grpc_method: method })));
    const { begun, ended, took } = of;
    const at = clock.monotonic();
    begun.add();
    return (code) => {
      ended(code).add();
      took.observe((clock.monotonic() - at) / 1000);
    };
  };
}

function remembered<K, V>(make: (key: K) => V): (key: K) => V {
  const known = new Map<K, V>();
  return (key) => {
    return getOrAdd(known, key, () => make(key));
  };
}
