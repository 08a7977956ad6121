/** What stands beside the graph: a community, an entity, two entities, or the list of communities. */

import { useEffect, useState } from "preact/hooks";
import { path } from "../lib/api";
import { clip, count, documentName, nouns } from "../lib/format";
import { useLoad } from "../lib/load";
import { change, openDocument } from "../lib/route";
import type { Community, IndexSummary } from "../lib/types";
import { Finder } from "./finder";
import { Icon } from "./icons";
import { Markdown } from "./markdown";

interface Place {
  document: string;
  start: number;
  end: number;
  text?: string;
  quote?: string;
}

export interface EntityRecord {
  id: string;
  name: string;
  names?: string[];
  type?: string;
  mentions?: number;
  description?: string;
  descriptions?: { document?: string; title?: string; text: string; start?: number; end?: number }[];
  relations?: {
    id: string;
    source: string;
    target: string;
    sentence: string;
    other_name?: string;
    evidence?: Place[];
    sentences?: Place[];
  }[];
  documents?: (string | { id: string; title?: string; mentions?: number })[];
  reports?: (string | { id: string; title?: string })[];
}

const FIRST = 12;

function Close() {
  return (
    <button type="button" class="quiet" aria-label="Close the panel" onClick={() => change({ e: null, community: null })}>
      <Icon name="close" />
    </button>
  );
}

export function Overview({ index, communities, color, answer, name }: {
  index: IndexSummary;
  communities: Community[];
  color: (id: string) => string;
  answer: { question: string; entities: string[] } | "missing" | null;
  name: (id: string) => string;
}) {
  const sorted = [...communities].sort((a, b) => b.size - a.size || (a.id < b.id ? -1 : 1));
  if (answer) {
    return (
      <>
        <h2>Behind an answer</h2>
        {answer === "missing" ? (
          <p class="soft">The server no longer keeps this answer. Ask the question again to see its graph.</p>
        ) : answer.entities.length ? (
          <>
            <p>{answer.question}</p>
            <h3>Entities that the answer used</h3>
            <ul class="plain-list">
              {answer.entities.slice(0, 60).map((each) => (
                <li key={each}>
                  <button type="button" class="link" onClick={() => change({ e: each })}>{name(each)}</button>
                </li>
              ))}
            </ul>
          </>
        ) : (
          <p class="soft">The method used passages only, no entities.</p>
        )}
      </>
    );
  }
  return (
    <>
      <h2>What {index.name} is about</h2>
      <p class="soft">
        {nouns(index.entities, "entity", "entities")}
        {communities.length > 0 && ` in ${nouns(communities.length, "community", "communities")}`}. Choose a community, or find an entity.
      </p>
      <h3>Communities, the largest first</h3>
      <ul class="plain-list">
        {sorted.slice(0, 60).map((each) => (
          <li key={each.id}>
            <button type="button" class="community-button" onClick={() => change({ community: each.id, e: null })}>
              <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><circle cx="5" cy="5" r="5" fill={color(each.id)} /></svg>
              <span>{each.title}</span>
              <span class="soft number">{count(each.size)}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

interface ReportRecord {
  id: string;
  title?: string;
  summary?: string;
  text?: string;
  findings?: { summary: string; explanation: string; evidence?: { document: string; start: number; end: number }[] }[];
  documents?: { id: string; title: string }[];
  members?: (string | { id: string; name: string })[];
  entities?: (string | { id: string; name: string })[];
}

export function CommunityPanel({ index, community, children_ }: { index: IndexSummary; community: Community; children_: Community[] }) {
  const report = useLoad<ReportRecord>(path("indexes", index.name, "reports", community.id));
  const members = report.data?.members ?? report.data?.entities ?? [];
  const text = report.data?.text ?? report.data?.summary ?? "";
  return (
    <div class="report">
      <div class="head">
        <h2>{report.data?.title || community.title}</h2>
        <Close />
      </div>
      {community.size > 0 && <p class="soft">{nouns(community.size, "entity", "entities")}</p>}
      {report.loading && <p class="soft">Opening …</p>}
      {text ? (
        <>
          <h3>Report</h3>
          <div class="prose"><Markdown text={text} top={4} /></div>
          <ul class="plain-list">
            {(report.data?.findings ?? []).map((each, i) => (
              <li key={i}>
                <b>{each.summary}</b>{" "}
                {each.explanation && each.explanation !== each.summary && <div class="prose"><Markdown text={each.explanation} top={5} /></div>}
                {(each.evidence ?? []).map((place, j) => (
                  <button key={j} type="button" class="link id" onClick={() => openDocument(place.document, place.start, place.end)}>{documentName(place.document)} </button>
                ))}
              </li>
            ))}
          </ul>
        </>
      ) : report.error ? (
        <p class="problem" role="alert">{report.error}</p>
      ) : (
        !report.loading && <p class="soft">No report was written about this community.</p>
      )}
      {children_.length > 0 && (
        <>
          <h3>Parts</h3>
          <ul class="plain-list">
            {children_.map((each) => (
              <li key={each.id}>
                <button type="button" class="link" onClick={() => change({ level: each.level, community: each.id })}>{each.title}</button>{" "}
                <span class="soft number">{count(each.size)}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      {members.length > 0 && (
        <>
          <h3>Entities</h3>
          <ul class="plain-list">
            {members.slice(0, 40).map((each) => {
              const [id, name] = typeof each === "string" ? [each, each] : [each.id, each.name];
              return (
                <li key={id}>
                  <button type="button" class="link" onClick={() => change({ e: id, g: id, community: null, level: null })}>{name}</button>
                </li>
              );
            })}
          </ul>
        </>
      )}
    </div>
  );
}

export function EntityPanel({ index, id, grown, onGrow, onSplit }: {
  index: IndexSummary;
  id: string;
  grown: boolean;
  onGrow: () => void;
  onSplit: (other: string) => void;
}) {
  const found = useLoad<EntityRecord>(path("indexes", index.name, "entities", id));
  const [all, setAll] = useState(false);
  const [pairing, setPairing] = useState(false);
  useEffect(() => setPairing(false), [id]);
  const entity = found.data?.id === id ? found.data : null;
  if (found.error) {
    return (
      <>
        <div class="head"><h2>{id}</h2><Close /></div>
        <p class="problem" role="alert">{found.error}</p>
      </>
    );
  }
  if (!entity) return <p class="soft">Opening …</p>;
  const names = (entity.names ?? []).filter((each) => each !== entity.name);
  const relations = entity.relations ?? [];
  return (
    <>
      <div class="head">
        <h2>{entity.name}</h2>
        <Close />
      </div>
      <p class="soft">
        {entity.type}
        {entity.mentions ? `${entity.type ? ", " : ""}${nouns(entity.mentions, "mention")}` : ""}
      </p>
      {names.length > 0 && (
        <ul class="chips" aria-label="Other names">
          {names.slice(0, 12).map((each) => (
            <li class="chip" key={each}>
              {each}
              {index.writable && (
                <button type="button" class="quiet" aria-label={`${each} is a different entity`} title="not the same" onClick={() => onSplit(each)}>
                  <Icon name="close" />
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      <p class="row">
        {!grown && <button type="button" onClick={onGrow}><Icon name="graph" /> neighbourhood</button>}
        <button type="button" aria-expanded={pairing} onClick={() => setPairing(!pairing)}>compare with …</button>
      </p>
      {pairing && <Finder index={index.name} label="Compare with" focused onChoose={(hit) => hit.id !== id && change({ e: [id, hit.id] })} />}
      {entity.description && !entity.descriptions?.length && <p>{entity.description}</p>}
      {(entity.descriptions?.length ?? 0) > 0 && (
        <>
          <h3>Descriptions, by document</h3>
          <ul class="plain-list">
            {entity.descriptions?.slice(0, 20).map((each, i) => (
              <li key={i}>
                {each.text}{" "}
                {each.document && (
                  <button type="button" class={each.title ? "link" : "link id"} onClick={() => openDocument(each.document ?? "", each.start, each.end)}>
                    {each.title || documentName(each.document)}
                  </button>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
      {relations.length > 0 && (
        <>
          <h3>Relations</h3>
          <ul class="plain-list">
            {(all ? relations : relations.slice(0, FIRST)).map((each) => (
              <li key={each.id}>
                <Relation relation={each} own={id} />
              </li>
            ))}
          </ul>
          {relations.length > FIRST && (
            <button type="button" class="link" onClick={() => setAll(!all)}>{all ? "fewer" : `${count(relations.length - FIRST)} more`}</button>
          )}
        </>
      )}
      {(entity.documents?.length ?? 0) > 0 && (
        <>
          <h3>Documents</h3>
          <ul class="plain-list">
            {entity.documents?.slice(0, 30).map((each) => {
              const document = typeof each === "string" ? { id: each } : each;
              return (
                <li key={document.id}>
                  <button type="button" class="link" onClick={() => openDocument(document.id)}>{("title" in document && document.title) || documentName(document.id)}</button>
                </li>
              );
            })}
          </ul>
        </>
      )}
      {(entity.reports?.length ?? 0) > 0 && (
        <>
          <h3>Communities</h3>
          <ul class="plain-list">
            {entity.reports?.map((each) => {
              const report = typeof each === "string" ? { id: each, title: each } : each;
              return (
                <li key={report.id}>
                  <button type="button" class="link" onClick={() => change({ community: report.id, e: null })}>{report.title || report.id}</button>
                </li>
              );
            })}
          </ul>
        </>
      )}
    </>
  );
}

function Relation({ relation, own }: { relation: NonNullable<EntityRecord["relations"]>[number]; own: string }) {
  const other = relation.source === own ? relation.target : relation.source;
  const places = relation.evidence ?? relation.sentences ?? [];
  return (
    <>
      <span>{relation.sentence}</span>{" "}
      <button type="button" class="link" onClick={() => change({ e: other })}>{relation.other_name ?? other}</button>
      {places.slice(0, 3).map((place, i) => (
        <div key={i} class="soft">
          <button type="button" class="link" onClick={() => openDocument(place.document, place.start, place.end)}>
            {clip(place.quote ?? place.text ?? documentName(place.document), 140)}
          </button>
        </div>
      ))}
    </>
  );
}

/** Why two names are one entity or two, as the API tells it. */
interface PairHistory {
  same: boolean;
  merges: { name: string; document: string; other: string; rule: string; score: number; evidence: string }[];
  kept_apart: { names: [string, string]; decision: string; rule: string; score: number; evidence: string }[];
  decisions: { number: number; kind: string; a: string; b: string; in_force: boolean }[];
}

function reasonsOf({ same, merges, kept_apart, decisions }: PairHistory): string[] {
  const because = (rule: string, score: number, evidence: string) => `${rule}, confidence ${score.toFixed(2)}${evidence ? `: ${evidence}` : ""}`;
  const found = [
    ...merges.map((each) => `${each.name}${each.document ? `, in ${documentName(each.document)},` : ""} was merged with ${each.other} (${because(each.rule, each.score, each.evidence)}).`),
    ...kept_apart.map((each) => `${each.names.join(" and ")}: ${each.decision} (${because(each.rule, each.score, each.evidence)}).`),
    ...decisions.map((each) => `Decision ${each.number}${each.in_force ? "" : ", replaced"}: ${each.kind} ${each.a} and ${each.b}.`),
  ];
  if (same) return ["They are one entity already.", ...(found.length ? found : ["Both are one name."])];
  return found.length ? found : ["No rule compared them."];
}

export function PairPanel({ index, first, second, onDecide }: { index: IndexSummary; first: string; second: string; onDecide: () => Promise<void> }) {
  const one = useLoad<EntityRecord>(path("indexes", index.name, "entities", first));
  const two = useLoad<EntityRecord>(path("indexes", index.name, "entities", second));
  const why = useLoad<{ pair: PairHistory }>(
    path("indexes", index.name, "entities", "why") + `?a=${encodeURIComponent(first)}&b=${encodeURIComponent(second)}`,
  );
  const [busy, setBusy] = useState(false);
  const decide = () => {
    setBusy(true);
    void onDecide().finally(() => setBusy(false));
  };
  const pair = why.data?.pair;
  return (
    <>
      <div class="head">
        <h2>The same?</h2>
        <Close />
      </div>
      {[one.data, two.data].map((each, i) => (
        <div key={i}>
          <h3>{i ? "Second" : "First"}</h3>
          <p><b>{each?.name ?? (i ? second : first)}</b> <span class="soft">{each?.type}</span></p>
          <p>{clip(each?.description ?? each?.descriptions?.[0]?.text ?? "", 300)}</p>
        </div>
      ))}
      {pair && (
        <>
          <h3>What entity resolution found</h3>
          <ul class="plain-list">
            {reasonsOf(pair).map((each, i) => <li key={i}>{each}</li>)}
          </ul>
        </>
      )}
      {pair?.same ? null : index.writable ? (
        <p class="row">
          <button type="button" class="main" disabled={busy} onClick={decide}>Same thing</button>
          <button type="button" disabled={busy} onClick={() => change({ e: first })}>Not the same</button>
        </p>
      ) : (
        <p class="soft">This index is read-only, so entities cannot be merged here.</p>
      )}
    </>
  );
}
