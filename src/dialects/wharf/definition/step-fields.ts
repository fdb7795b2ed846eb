// The step types and their fields: the one place that knows them. Types, defaults, checks and suggestions are made of these tables.

/** What is known of a field before any definition is read. */
interface Field {
  readonly kind: "text" | "boolean" | "texts" | "map";
  /** Must be there and not be empty. */
  readonly isRequired?: true;
  /** Taken where the field is not written. */
  readonly initial?: string | boolean;
}

const text = { kind: "text" } as const;
const texts = { kind: "texts" } as const;
const map = { kind: "map" } as const;
const boolean = { kind: "boolean" } as const;
const requiredText = { kind: "text", isRequired: true } as const;
const requiredTexts = { kind: "texts", isRequired: true } as const;
const textOr = (initial: string) => ({ kind: "text", initial }) as const;
const booleanOr = (initial: boolean) => ({ kind: "boolean", initial }) as const;

/** Fields whose default depends on variables have none here; `plan/` gives them theirs. */
export const stepFields = {
  container: {
    /** The image that the commands run in. */
    image: requiredText,
    /** Lines of one text that the shell is given. */
    cmds: requiredTexts,
    /** `linux` or `windows`. */
    os: textOr("linux"),
    /** Takes `-c`; on Windows PowerShell unless told. */
    shell: textOr("/bin/sh"),
    /** A secret of the project, all of whose keys become variables. */
    secretName: text,
    /** Of the Pod, in a cluster. */
    serviceAccount: textOr("default"),
    /** Where the certificates of the organisation are put. */
    certificatesMountPath: text,
    /** Globs of files to keep. */
    artifacts: texts,
    /** Globs of files with results of tests. */
    testResults: texts,
    /** Variables of the commands. */
    env: map,
    /** A duration as Go writes them. */
    timeout: text,
  },
  docker: {
    /** The Dockerfile, in the project. */
    file: requiredText,
    /** Several are separated by commas. */
    tag: requiredText,
    /** The whole name of the image; otherwise it is made of the next three. */
    destination: text,
    /** The name of the step unless told. */
    name: text,
    /** `REPO_GROUP` unless told. */
    group: text,
    /** `REG_URL` unless told. */
    registry: text,
    /** What the build sees of the project; all of it unless told. */
    context: text,
    /** `REG_SECRET` unless told; an empty one is none. */
    secret: text,
    /** Whether the image is given the certificates of the organisation. */
    "append-cert": boolean,
    push: booleanOr(true),
    /** `NAME=value`. */
    args: texts,
    /** A secret of the project. */
    secretName: text,
    /** `ARGUMENT=key` of that secret. */
    secretArgs: texts,
  },
  helm: {
    chart: requiredText,
    name: requiredText,
    namespace: requiredText,
    /** `CHART_REPO/REPO_GROUP` unless told; the word `stage` is a repository of old. */
    repo: text,
    /** Values of the chart, all of them texts. */
    set: map,
    /** Files of values; variables are substituted in them. */
    files: texts,
    chartVersion: text,
    /** The tag of the image. */
    helmVersion: textOr("v2.14.1"),
    /** The ConfigMap with the kubeconfig. */
    cluster: textOr("kubectl-config"),
    /** `HELM_REG_SECRET` by default; an empty name means no login. */
    secret: text,
  },
  "helm-package": {
    /** The chart's own unless told. */
    version: text,
    "chart-path": textOr("."),
    /** `CHART_REPO/REPO_GROUP` unless told. */
    destination: text,
    /** `HELM_REG_SECRET` by default; an empty name means no login. */
    secret: text,
  },
  kubectl: {
    /** One of these two must be there; variables are substituted in the files. */
    file: text,
    files: texts,
    namespace: text,
    action: textOr("apply"),
    /** Also deletes and makes anew what cannot be changed. */
    force: booleanOr(false),
    /** The ConfigMap with the kubeconfig. */
    cluster: textOr("kubectl-config"),
  },
  "nuget-package": {
    version: requiredText,
    "project-path": requiredText,
    repo: requiredText,
    /** Whether a version that is there already is no failure. */
    "skip-duplicate": booleanOr(false),
    /** Where the certificates of the organisation are put. */
    certificatesMountPath: text,
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Field>>>>;

/** The six words that a step can begin with. */
export type StepType = keyof typeof stepFields;

/** In the order in which people are told of them. */
export const stepTypes: readonly StepType[] = [
  "container",
  "docker",
  "helm",
  "helm-package",
  "kubectl",
  "nuget-package",
];

export const isStepType = (name: string): name is StepType => Object.hasOwn(stepFields, name);

/** The fields of a type by name. */
export const fieldsOf = (type: StepType): Readonly<Record<string, Field>> => stepFields[type];

/** What a field of a kind becomes. */
interface ValueOfKind {
  readonly text: string;
  readonly boolean: boolean;
  readonly texts: readonly string[];
  readonly map: ReadonlyMap<string, string>;
}
/** Fields that every step of the type has in the end. */
type Certain = { readonly isRequired: true } | { readonly initial: string | boolean };
type ValuesOf<Fields extends Readonly<Record<string, Field>>> = {
  readonly [Name in keyof Fields as Fields[Name] extends Certain ? Name : never]: ValueOfKind[Fields[Name]["kind"]];
} & {
  readonly [Name in keyof Fields as Fields[Name] extends Certain ? never : Name]?: ValueOfKind[Fields[Name]["kind"]];
};

/** What a step of a type has, with the defaults that need no variables. */
export type StepValues<Type extends StepType> = ValuesOf<(typeof stepFields)[Type]>;
