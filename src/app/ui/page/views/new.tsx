import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { LintAnswer, LintRequest, StartableObject } from "#app/ui/wire.ts";
import { servedKinds } from "../data/kinds.ts";
import { place } from "../data/router.ts";
import { clock } from "../data/time.ts";
import { documentAgain, lint, startables } from "../data/start.ts";
import { useAnswer } from "../parts/answer.ts";
import { useOffer } from "../parts/hooks.ts";
import { Failure, Loading } from "../parts/states.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { KindForm } from "./start/kind-form.tsx";
import { StartResult } from "./start/result.tsx";
import { TemplateForm } from "./start/template-form.tsx";

const tabs = [
  { id: "document", label: "Document" },
  { id: "stored", label: "Template or definition" },
  { id: "form", label: "Form" },
] as const;

type TabId = (typeof tabs)[number]["id"];

const checkedAfterMs = 400;

/** A document is checked as it is written, and every other way to start ends in one. */
export function View() {
  useOffer({ title: "Start", command: "slipway run FILE" });
  const tab = useSignal<TabId>("document");
  const text = useSignal("");
  const stored = useSignal<LintRequest | undefined>(undefined);
  const checked = useSignal<{ readonly answer?: LintAnswer; readonly thrown?: unknown }>({});
  const again = place.value.query.get("again") ?? "";
  useEffect(() => {
    if (again === "") return;
    const abort = new AbortController();
    documentAgain(again, abort.signal).then(
      (document) => {
        tab.value = "document";
        text.value = document;
      },
      (thrown: unknown) => {
        if (!abort.signal.aborted) checked.value = { thrown };
      },
    );
    return () => abort.abort();
  }, [again]);
  const written = text.value.trim() === "" ? undefined : { text: text.value };
  const request = tab.value === "stored" ? stored.value : written;
  useEffect(() => {
    if (request === undefined) checked.value = {};
    if (request === undefined) return;
    const abort = new AbortController();
    const cancel = clock.after(checkedAfterMs, () => {
      lint(request, abort.signal).then(
        (answer) => {
          checked.value = { answer };
        },
        (thrown: unknown) => {
          if (!abort.signal.aborted) checked.value = { thrown };
        },
      );
    });
    return () => {
      cancel();
      abort.abort();
    };
  }, [JSON.stringify(request)]);
  return (
    <div class="page-column is-scrolled">
      <h1 tabIndex={-1}>Start</h1>
      <Tabs
        label="Ways to start"
        tabs={tabs}
        current={tab.value}
        onChoose={(id) => {
          checked.value = {};
          stored.value = undefined;
          tab.value = tabs.find((one) => one.id === id)?.id ?? "document";
        }}
        panel="start-panel"
      />
      <div class="start">
        <div id="start-panel" role="tabpanel" aria-label={tabs.find(({ id }) => id === tab.value)?.label} tabIndex={0}>
          {tab.value === "document" && <Document text={text} problems={checked.value.answer?.problems ?? []} />}
          {tab.value === "stored" && <Stored request={stored} />}
          {tab.value === "form" && <Forms text={text} />}
        </div>
        <section aria-label="What the document does">
          {checked.value.thrown !== undefined && <Failure thrown={checked.value.thrown} />}
          {checked.value.answer !== undefined && <StartResult answer={checked.value.answer} />}
          {checked.value.answer === undefined && checked.value.thrown === undefined && (
            <p class="muted">
              Problems, the steps and the buttons to start appear here. On the command line: slipway run FILE.
            </p>
          )}
        </section>
      </div>
    </div>
  );
}

/** The server checks no longer texts. */
const mostFileBytes = 256 * 1024;

function Document({ text, problems }: { readonly text: { value: string }; readonly problems: LintAnswer["problems"] }) {
  const failure = useSignal("");
  const read = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    failure.value = file.size > mostFileBytes ? `${file.name} is larger than 256 KiB. Use slipway run instead.` : "";
    if (failure.value === "") text.value = await file.text();
  };
  const isWrong = problems.some(({ severity }) => severity === "error");
  return (
    <>
      <label class="field">
        Document: YAML or JSON, or several separated by ---
        <textarea
          class="code"
          id="document"
          spellcheck={false}
          aria-invalid={isWrong}
          placeholder="Paste a document here, or open a file"
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
        />
      </label>
      <label class="field">
        Open a file
        <input type="file" accept=".yaml,.yml,.json" onChange={(event) => void read(event.currentTarget.files?.[0])} />
      </label>
      {failure.value !== "" && (
        <p class="wrong" role="alert">
          {failure.value}
        </p>
      )}
    </>
  );
}

function Stored({ request }: { readonly request: Signal<LintRequest | undefined> }) {
  const chosen = useSignal("");
  const [answer, again] = useAnswer(startables);
  if (answer.is === "loading") return <Loading what="templates" />;
  if (answer.is === "failed") return <Failure thrown={answer.thrown} onRetry={again} />;
  const keyOf = ({ ref }: StartableObject): string => [ref.kind, ref.namespace, ref.name].join(" ");
  const found = answer.value.find((one) => keyOf(one) === chosen.value);
  if (answer.value.length === 0)
    return (
      <p class="muted">
        No stored templates or schedules that can be run. Store one with <code>slipway apply FILE</code>.
      </p>
    );
  return (
    <>
      <label class="field">
        Template or schedule
        <select
          value={chosen.value}
          onChange={(event) => {
            chosen.value = event.currentTarget.value;
            request.value = undefined;
          }}
        >
          <option value="">Choose one</option>
          {answer.value.map((one) => (
            <option key={keyOf(one)} value={keyOf(one)}>
              {one.ref.name} ({one.ref.kind}
              {one.ref.namespace === undefined ? "" : `, ${one.ref.namespace}`})
            </option>
          ))}
        </select>
      </label>
      {found !== undefined && <TemplateForm key={chosen.value} object={found} request={request} />}
    </>
  );
}

/** Kinds that are shown together with the product's own. */
function Forms({ text }: { readonly text: { value: string } }) {
  const chosen = useSignal("");
  const [answer, again] = useAnswer(() => servedKinds());
  if (answer.is === "loading") return <Loading what="kinds" />;
  if (answer.is === "failed") return <Failure thrown={answer.thrown} onRetry={again} />;
  const kinds = answer.value.filter(
    ({ categories, verbs }) => categories.includes("slipway") && verbs.includes("create"),
  );
  const keyOf = ({ kind, group }: (typeof kinds)[number]): string => `${kind}.${group}`;
  const found = kinds.find((kind) => keyOf(kind) === chosen.value);
  return (
    <>
      <label class="field">
        Kind
        <select
          value={chosen.value}
          onChange={(event) => {
            chosen.value = event.currentTarget.value;
          }}
        >
          <option value="">Choose a kind</option>
          {kinds.map((kind) => (
            <option key={keyOf(kind)} value={keyOf(kind)}>
              {kind.kind} ({kind.group})
            </option>
          ))}
        </select>
      </label>
      {found !== undefined && <KindForm key={chosen.value} kind={found} text={text} />}
    </>
  );
}
