import { useSignal } from "@preact/signals";
import { servedKinds } from "../data/kinds.ts";
import { useAnswer } from "../parts/answer.ts";
import { useOffer } from "../parts/hooks.ts";
import { KindTableView } from "../parts/kind-table.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";

export function View() {
  useOffer({ title: "Events", command: "kubectl get events -A" });
  const text = useSignal("");
  const onlyWarnings = useSignal(false);
  const [answer, again] = useAnswer(async () =>
    (await servedKinds()).find(({ group, kind }) => group === "" && kind === "Event"),
  );
  const kind = answer.is === "ready" ? answer.value : undefined;
  return (
    <div class="page-column is-scrolled">
      <h1 tabIndex={-1}>Events</h1>
      <div class="filter" role="search">
        <input
          type="search"
          aria-label="Filter events"
          placeholder="Object, reason or message"
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={onlyWarnings.value}
            onChange={(event) => {
              onlyWarnings.value = event.currentTarget.checked;
            }}
          />
          Warnings only
        </label>
      </div>
      {answer.is === "loading" && <Loading what="events" />}
      {answer.is === "failed" && <Failure thrown={answer.thrown} onRetry={again} />}
      {kind !== undefined && (
        <KindTableView
          kind={kind}
          text={text.value}
          query={onlyWarnings.value ? { fieldSelector: "type=Warning" } : {}}
          empty={
            <Empty title="No events" commands={["slipway run FILE", "kubectl get events -A", "slipway describe RUN"]}>
              <p>The server keeps events for an hour. Any run leaves some.</p>
            </Empty>
          }
        />
      )}
    </div>
  );
}
