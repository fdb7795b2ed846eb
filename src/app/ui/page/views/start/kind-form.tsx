import { useSignal } from "@preact/signals";
import { apiVersionOf, schemaOf, type ServedKind } from "../../data/kinds.ts";
import { useAnswer } from "../../parts/answer.ts";
import { Failure, Loading } from "../../parts/states.tsx";
import { Field, type FormField } from "../../parts/field.tsx";
import { documentOf, fieldsOf } from "./form-fields.ts";

/**
 * A form of the kind's schema. What is filled in is the document, which can be changed by hand before it is started.
 */
export function KindForm({ kind, text }: { readonly kind: ServedKind; readonly text: { value: string } }) {
  const [answer, again] = useAnswer((signal) => schemaOf(kind, signal));
  const values = useSignal<Readonly<Record<string, string>>>({});
  if (answer.is === "loading") return <Loading what={`the schema of ${kind.kind}`} />;
  if (answer.is === "failed") return <Failure thrown={answer.thrown} onRetry={again} />;
  const fields = answer.value === undefined ? [] : fieldsOf(answer.value);
  const change = (name: string, value: string): void => {
    values.value = { ...values.value, [name]: value };
    const { "metadata.name": own = "", "metadata.namespace": namespace = "" } = values.value;
    text.value = documentOf(
      { apiVersion: apiVersionOf(kind), kind: kind.kind, name: own, namespace },
      fields,
      values.value,
    );
  };
  const head: readonly FormField[] = ["name", ...(kind.isNamespaced ? ["namespace"] : [])].map((name) => ({
    path: ["metadata", name],
    type: "text",
    description:
      name === "name" ? "The server completes it when it is empty." : "The namespace default when it is empty.",
    options: [],
    isRequired: false,
    initial: "",
  }));
  return (
    <>
      <div class="start-form">
        {[...head, ...fields].map((field) => (
          <Field
            key={field.path.join(".")}
            field={field}
            value={values.value[field.path.join(".")]}
            onChange={change}
          />
        ))}
      </div>
      {fields.length === 0 && <p class="muted">This kind declares no simple fields. Write the document instead.</p>}
      <label class="field">
        Document
        <textarea
          class="code is-small"
          spellcheck={false}
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
        />
      </label>
    </>
  );
}
