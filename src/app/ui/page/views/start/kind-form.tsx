import { useSignal } from "@preact/signals";
import { apiVersionOf, schemaOf, type ServedKind } from "../../data/kinds.ts";
import { useAnswer } from "../../parts/answer.ts";
import { Failure, Loading } from "../../parts/states.tsx";
import { documentOf, type FormField, fieldsOf } from "./form-fields.ts";

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

interface FieldProps {
  readonly field: FormField;
  readonly value: string | undefined;
  readonly onChange: (name: string, value: string) => void;
}

export function Field({ field, value = field.initial, onChange }: FieldProps) {
  const name = field.path.join(".");
  const label = field.path.slice(1).join(".");
  const options = field.type === "boolean" ? ["true", "false"] : field.options;
  const set = (event: { readonly currentTarget: { readonly value: string } }): void =>
    onChange(name, event.currentTarget.value);
  const hint = `hint-${name}`;
  return (
    <div class="field">
      <label for={`field-${name}`}>
        <span class="mono">{label}</span>
        {field.isRequired && <span class="muted"> required</span>}
      </label>
      {options.length > 0 ? (
        <select id={`field-${name}`} value={value} aria-describedby={hint} required={field.isRequired} onChange={set}>
          <option value="">-</option>
          {options.map((option) => (
            <option key={option} value={option}>
              {option}
            </option>
          ))}
        </select>
      ) : field.type === "list" ? (
        <textarea id={`field-${name}`} rows={2} value={value} aria-describedby={hint} onInput={set} />
      ) : (
        <input
          id={`field-${name}`}
          inputMode={field.type === "number" ? "decimal" : "text"}
          value={value}
          aria-describedby={hint}
          required={field.isRequired}
          autoComplete="off"
          spellcheck={false}
          onInput={set}
        />
      )}
      <small id={hint}>{field.type === "list" ? `One a line. ${field.description}` : field.description}</small>
    </div>
  );
}
