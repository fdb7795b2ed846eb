import { useSignal } from "@preact/signals";
import { resourcePath, type ServedKind, servedKinds } from "../data/kinds.ts";
import { useAnswer } from "../parts/answer.ts";
import { useOffer } from "../parts/hooks.ts";
import { KindTableView } from "../parts/kind-table.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";

/** `pod/web-1` names its kind without the group: of several, the runs that are called so are listed. */
function objectLink(kinds: readonly ServedKind[], text: string, namespace: string | undefined): string | undefined {
  const [called = "", name = ""] = text.split("/");
  const found = kinds.filter(({ kind, verbs }) => kind.toLowerCase() === called && verbs.includes("get"));
  if (found[0] === undefined || name === "") return undefined;
  if (found.length > 1) return `/runs?filter=${encodeURIComponent(`ns:${namespace ?? ""} ${name}`)}`;
  return resourcePath(found[0], namespace, name);
}

/** The newest events about anything. */
export function View() {
  useOffer({ title: "Events", command: "kubectl get events -A" });
  const text = useSignal("");
  const onlyWarnings = useSignal(false);
  const [answer, again] = useAnswer(() => servedKinds());
  const kinds = answer.is === "ready" ? answer.value : [];
  const kind = kinds.find((one) => one.group === "" && one.kind === "Event");
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
          newestFirst
          narrow={["Last Seen", "Reason", "Object"]}
          linkOf={(column, cell, row) => (column === "Object" ? objectLink(kinds, cell, row.namespace) : undefined)}
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
