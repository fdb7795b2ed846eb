import { useSignal } from "@preact/signals";
import { inNamespace, shellWord } from "../../data/refs.ts";
import { apiVersionOf, type ObjectName, pathOfObject, readYaml, resourcePath } from "../../data/kinds.ts";
import { href, place, setQuery } from "../../data/router.ts";
import { useAnswer } from "../../parts/answer.ts";
import { EventsOf } from "../../parts/events-of.tsx";
import { useOffer } from "../../parts/hooks.ts";
import { Failure, Loading } from "../../parts/states.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { Editor } from "./editor.tsx";

const tabs = [
  { id: "yaml", label: "YAML" },
  { id: "events", label: "Events" },
  { id: "edit", label: "Edit" },
] as const;

export function ResourceDetail({ kind, namespace, name }: ObjectName) {
  const qualified = kind.group === "" ? kind.resource : `${kind.resource}.${kind.group}`;
  useOffer({
    title: `${kind.kind} ${name}`,
    command: `kubectl get ${qualified} ${shellWord(name)}${inNamespace(namespace)} -o yaml`,
    reference: `${qualified}/${name}`,
  });
  const isEditable = kind.verbs.includes("update");
  const shown = tabs.filter(({ id }) => id !== "edit" || isEditable);
  const tab = shown.find(({ id }) => id === place.value.query.get("tab")) ?? tabs[0];
  return (
    <div class="page-column is-scrolled">
      <p class="crumbs">
        <a href={href("/resources")}>Resources</a> / <a href={href(resourcePath(kind))}>{kind.kind}</a>
      </p>
      <h1 tabIndex={-1} class="wrap mono">
        {namespace === undefined ? "" : <span class="muted">{namespace}/</span>}
        {name}
      </h1>
      <Tabs
        label="About the object"
        tabs={shown}
        current={tab.id}
        onChoose={(id) => setQuery({ tab: id === "yaml" ? "" : id })}
        panel="object-panel"
      />
      <div id="object-panel" role="tabpanel" aria-label={tab.label} tabIndex={0}>
        {tab.id === "yaml" && <Yaml kind={kind} namespace={namespace} name={name} />}
        {tab.id === "events" && <EventsOf object={refOf({ kind, namespace, name })} named={name} />}
        {tab.id === "edit" && <Editor kind={kind} namespace={namespace} name={name} />}
      </div>
    </div>
  );
}

/** Values of Secrets are shown when asked for. */
function Yaml({ kind, namespace, name }: ObjectName) {
  const isSecret = kind.group === "" && kind.kind === "Secret";
  const isRevealed = useSignal(!isSecret);
  const [answer, again] = useAnswer((signal) => readYaml(pathOfObject(kind, namespace, name), signal));
  if (answer.is === "loading") return <Loading what={name} />;
  if (answer.is === "failed") return <Failure thrown={answer.thrown} onRetry={again} />;
  return (
    <>
      {isSecret && (
        <p>
          <button
            type="button"
            aria-pressed={isRevealed.value}
            onClick={() => {
              isRevealed.value = !isRevealed.value;
            }}
          >
            Show values
          </button>
        </p>
      )}
      <pre class="text" tabIndex={0} role="region" aria-label={`YAML of ${name}`}>
        {isRevealed.value ? answer.value : masked(answer.value)}
      </pre>
    </>
  );
}

const refOf = ({ kind, namespace, name }: ObjectName) => ({
  apiVersion: apiVersionOf(kind),
  kind: kind.kind,
  name,
  ...(namespace === undefined ? {} : { namespace }),
});

/** Values of `data` and `stringData`, of any number of lines, and what annotations may repeat of them. */
export function masked(yaml: string): string {
  let isInside = false;
  return yaml
    .split("\n")
    .flatMap((line) => {
      if (/^\S/.test(line)) isInside = /^(?:data|stringData):/.test(line);
      if (line.includes("last-applied-configuration")) return [line.replace(/:.*$/, ": ••••")];
      if (!isInside || /^\S/.test(line))
        return [line.startsWith("data: {") && line !== "data: {}" ? "data: ••••" : line];
      const [, key] = /^ {2}([^\s:][^:]*):/.exec(line) ?? [];
      return key === undefined ? [] : [`  ${key}: ••••`];
    })
    .join("\n");
}
