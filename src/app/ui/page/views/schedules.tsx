import { servedKinds } from "../data/kinds.ts";
import { useAnswer } from "../parts/answer.ts";
import { useOffer } from "../parts/hooks.ts";
import { KindTableView } from "../parts/kind-table.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";

/** Kinds that start something by the calendar are called so in every group that has one. */
const isSchedule = (kind: string): boolean => /^(?:Cron|Scheduled)|Schedule$/.test(kind);

export function View() {
  const [answer, again] = useAnswer(async () =>
    (await servedKinds()).filter(({ kind, verbs }) => isSchedule(kind) && verbs.includes("list")),
  );
  const names = answer.is === "ready" ? answer.value.map(({ resource }) => resource).join(",") : "";
  useOffer({ title: "Schedules", ...(names === "" ? {} : { command: `kubectl get ${names} -A` }) });
  return (
    <div class="page-column is-scrolled">
      <h1 tabIndex={-1}>Schedules</h1>
      {answer.is === "loading" && <Loading what="schedules" />}
      {answer.is === "failed" && <Failure thrown={answer.thrown} onRetry={again} />}
      {answer.is === "ready" && answer.value.length === 0 && (
        <Empty title="This server has no schedules" commands={["kubectl api-resources"]}>
          <p>None of its kinds starts runs on a schedule.</p>
        </Empty>
      )}
      {answer.is === "ready" &&
        answer.value.map((kind) => (
          <section key={kind.kind} aria-label={kind.kind}>
            <h2>{kind.kind}</h2>
            <KindTableView
              kind={kind}
              empty={
                <p class="muted">
                  None yet. <code>kubectl explain {kind.resource}.spec</code> describes the fields,{" "}
                  <code>slipway apply FILE</code> creates one.
                </p>
              }
            />
          </section>
        ))}
    </div>
  );
}
