import { useSignal } from "@preact/signals";
import { inNamespace } from "../data/refs.ts";
import { resourcePath, type ServedKind, servedKinds } from "../data/kinds.ts";
import { href, place, setQuery } from "../data/router.ts";
import { useAnswer } from "../parts/answer.ts";
import { useOffer } from "../parts/hooks.ts";
import { KindTableView } from "../parts/kind-table.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { ResourceDetail } from "./resources/detail.tsx";
import type { ViewProps } from "./view-props.ts";

/** All kinds, one kind, or one object, by what follows in the address. */
export function View({ params }: ViewProps) {
  const [group = "", name = "", namespace = "-", object = ""] = (params["rest"] ?? "").split("/");
  const [answer, again] = useAnswer(() => servedKinds());
  if (answer.is === "loading") return <Loading what="the kinds of the server" />;
  if (answer.is === "failed") return <Failure thrown={answer.thrown} onRetry={again} />;
  const listed = answer.value.filter(({ verbs }) => verbs.includes("list"));
  if (group === "") return <Kinds kinds={listed} />;
  const kind = listed.find((one) => one.kind === name && one.group === (group === "core" ? "" : group));
  if (kind === undefined)
    return (
      <div class="page-column">
        <h1 tabIndex={-1}>Not found</h1>
        <Empty title={`The server has no kind ${name} in the group ${group}`} commands={["kubectl api-resources"]}>
          <p>
            Its definition may have been removed. <a href={href("/resources")}>All kinds</a>
          </p>
        </Empty>
      </div>
    );
  if (object === "") return <Objects kind={kind} />;
  return <ResourceDetail kind={kind} namespace={namespace === "-" ? undefined : namespace} name={object} />;
}

const titleOf = (group: string): string => (group === "" ? "Kubernetes core" : group);

function Kinds({ kinds }: { readonly kinds: readonly ServedKind[] }) {
  useOffer({ title: "Resources", command: "kubectl api-resources" });
  const text = useSignal("");
  const wanted = text.value.toLowerCase();
  const fitting = kinds.filter(({ kind, group }) => `${kind}.${group}`.toLowerCase().includes(wanted));
  const groups = [...new Set(fitting.map(({ group }) => group))].sort(
    (a, b) => Number(isBuiltIn(a)) - Number(isBuiltIn(b)) || (a < b ? -1 : 1),
  );
  return (
    <div class="page-column is-scrolled">
      <h1 tabIndex={-1}>Resources</h1>
      <div class="filter" role="search">
        <input
          type="search"
          aria-label="Filter kinds"
          placeholder="Kind or group"
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
        />
        <span class="muted" role="status">
          {fitting.length} of {kinds.length} kinds
        </span>
      </div>
      {groups.map((group) => (
        <section key={group} aria-label={titleOf(group)}>
          <h2>{titleOf(group)}</h2>
          <ul class="kinds">
            {fitting
              .filter((kind) => kind.group === group)
              .map((kind) => (
                <li key={kind.kind}>
                  <a href={href(resourcePath(kind))}>{kind.kind}</a>
                </li>
              ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

/** Groups of Kubernetes come after those that one installs. */
const isBuiltIn = (group: string): boolean => !group.includes(".") || group.endsWith(".k8s.io");

function Objects({ kind }: { readonly kind: ServedKind }) {
  const { query } = place.value;
  const [namespace, text] = [query.get("namespace") ?? "", query.get("text") ?? ""];
  const where = !kind.isNamespaced ? "" : namespace === "" ? " -A" : inNamespace(namespace);
  const qualified = kind.group === "" ? kind.resource : `${kind.resource}.${kind.group}`;
  useOffer({ title: kind.kind, command: `kubectl get ${qualified}${where}` });
  return (
    <div class="page-column is-scrolled">
      <p class="crumbs">
        <a href={href("/resources")}>Resources</a>
      </p>
      <h1 tabIndex={-1}>
        {kind.kind} <span class="muted">{kind.group}</span>
      </h1>
      <div class="filter" role="search">
        <input
          type="search"
          aria-label={`Filter ${kind.resource}`}
          placeholder="Words in any column"
          value={text}
          onInput={(event) => setQuery({ text: event.currentTarget.value })}
        />
        {kind.isNamespaced && (
          <input
            class="is-short"
            aria-label="Namespace"
            placeholder="All namespaces"
            value={namespace}
            onChange={(event) => setQuery({ namespace: event.currentTarget.value.trim() })}
          />
        )}
      </div>
      <KindTableView
        kind={kind}
        {...(namespace === "" ? {} : { namespace })}
        text={text}
        empty={
          <Empty
            title={`No ${kind.resource}`}
            commands={[`kubectl explain ${qualified}`, "slipway apply FILE", `kubectl get ${qualified}${where}`]}
          >
            <p>These commands describe the kind, create objects from a file, and list them:</p>
          </Empty>
        }
      />
    </div>
  );
}
