import type { WaitingApproval } from "#app/ui/wire.ts";
import { approvals } from "../data/approvals.ts";
import { argumentsOf, keyOf, runPath } from "../data/refs.ts";
import { href } from "../data/router.ts";
import { Actions } from "../parts/actions.tsx";
import { useOffer } from "../parts/hooks.ts";
import { Empty } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";

/** Every step that waits for a person, the longest wait first. */
export function View() {
  const waiting = [...approvals.value].sort(([, a], [, b]) => (a.since ?? 0) - (b.since ?? 0));
  const commands = waiting.slice(0, 10).map(([, { run, step }]) => `slipway why ${argumentsOf(run.ref)} ${step}`);
  useOffer({ title: "Approvals", command: commands.join("; ") || "slipway status" });
  return (
    <div class="page-column is-scrolled">
      <h1 tabIndex={-1}>Approvals</h1>
      {waiting.length === 0 ? (
        <Empty
          title="Nothing waits for you"
          commands={[
            "slipway run examples/workflow/approval.yaml --detach",
            "slipway run examples/vela/approval.yaml --detach",
            "slipway approve rollout plan --value replicas=3",
          ]}
        >
          <p>A step that needs a person's approval appears here as soon as the run reaches it. For example:</p>
        </Empty>
      ) : (
        <ul class="cards">
          {waiting.map(([key, item]) => (
            <Waiting key={key} item={item} />
          ))}
        </ul>
      )}
    </div>
  );
}

function Waiting({ item: { run, step, message, since, asks } }: { readonly item: WaitingApproval }) {
  const page = `${runPath(keyOf(run))}?${new URLSearchParams({ step }).toString()}`;
  return (
    <li class="card">
      <h2 class="wrap">
        <a href={href(page)}>
          {step} <span class="only-heard">of </span>
          <span class="muted">{run.name}</span>
        </a>
      </h2>
      <p class="muted">
        {run.dialect}
        {run.ref.namespace === undefined ? "" : `, namespace ${run.ref.namespace}`}, {run.done} of {run.total} steps
        done, asked <Time at={since} />
      </p>
      {message !== "" && <p class="reason">{message}</p>}
      <Actions target={run.ref} step={step} actions={["approve", "reject"]} asks={asks} />
    </li>
  );
}
