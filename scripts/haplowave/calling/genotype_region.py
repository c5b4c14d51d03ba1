"""Genotypes of one region: haplotype genotypes first, sites out of them."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haplowave.calling import genotype_model as model
from haplowave.calling import genotype_population as population
from haplowave.calling.genotype_annotations import informative_alleles
from haplowave.calling.genotype_artefact import artefact_odds, artefact_quality
from haplowave.calling.genotype_evidence import Evidence, Reads
from haplowave.calling.genotype_phase import same_phase
from haplowave.calling.genotype_record import Call, SampleCall, SiteReads, failed_filters, site_info
from haplowave.calling.genotype_sites import Event, Site, build_site, carried_events, site_positions
from haplowave.io.samples import Sample
from haplowave.options import GenotypeOptions

_LONG_READS = ("hifi", "ont")
# Sites are phased only where this many fragments of the sample reach both.
_MIN_CONNECTING = 2


@dataclass(frozen=True)
class _SampleModel:
    """A sample with reads in the region: its haplotype genotypes `rows` (n, P), their log10 likelihoods and priors (n,)."""

    ploidy: int
    rows: np.ndarray
    log10: np.ndarray
    prior: np.ndarray


@dataclass(frozen=True)
class _SiteCall:
    site: Site
    call: Call


def call_region(evidence: Evidence, samples: Sequence[Sample], options: GenotypeOptions) -> list[Call]:
    """Records of the sites that start inside the region, in order of position."""
    evidence = _usable(evidence, samples, options)
    present = sorted(set(evidence.reads.sample.tolist()))
    if not present or not any(evidence.events):
        return []
    evidence = _supported_haplotypes(evidence, samples, present, options)
    priors = {samples[sample].ploidy: _prior(evidence, samples[sample].ploidy, options) for sample in present}
    models = {sample: _sample_model(evidence, sample, samples[sample].ploidy, priors) for sample in present}
    shown = _shown_haplotypes(evidence, models)
    called: set[Event] = set()
    found: list[_SiteCall] = []
    for pos in site_positions(evidence.events):
        site = build_site(pos, evidence.events, called)
        result = _call_site(site, evidence, shown, samples, models, options)
        if result is not None:
            wanted = {allele for allele in range(1, len(site.alleles)) if site.is_variant[allele]}
            kept = set(np.unique(site.of_haplotype[result.site.of_haplotype > 0]).tolist())
            called |= carried_events(site, evidence.events, wanted & kept)
            found.append(result)
    for sample, sample_model in models.items():
        if sample_model.ploidy == 2:
            _phase(found, sample, sample_model, evidence, options)
    return [one.call for one in found if evidence.start <= one.call.pos < evidence.end]


def _usable(evidence: Evidence, samples: Sequence[Sample], options: GenotypeOptions) -> Evidence:
    """Likelihoods capped, reads that no haplotype explains left out."""
    reads, log10 = evidence.reads, evidence.log10
    best = log10.max(axis=1, initial=-np.inf)
    long_sample = np.array([sample.platform in _LONG_READS for sample in samples])
    is_long = long_sample[reads.sample]
    short_kept = model.explained_reads(best, reads.length, options.expected_error_rate, options.max_expected_errors)
    long_kept = model.explained_reads(best, reads.length, options.long_read_error_rate, None)
    kept = np.where(is_long, long_kept, short_kept) & np.isfinite(best)
    chosen = evidence.take_reads(kept)
    return Evidence(
        chosen.contig, chosen.start, chosen.end, chosen.events, chosen.reads, model.cap_mismapping(chosen.log10, options.mismapping_quality)
    )


def _fragments(evidence: Evidence, sample: int) -> np.ndarray:
    chosen = evidence.reads.sample == sample
    _, numbers = np.unique(evidence.reads.fragment[chosen], return_inverse=True)
    return model.combine_fragments(evidence.log10[chosen], numbers, int(numbers.max()) + 1)


def _supported_haplotypes(evidence: Evidence, samples: Sequence[Sample], present: Sequence[int], options: GenotypeOptions) -> Evidence:
    """The haplotypes that the bound on genotypes leaves, those with most events first (as the prior wants them)."""
    keep = min(model.most_haplotypes(samples[sample].ploidy, options.max_genotypes) for sample in present)
    if len(evidence.events) > keep:
        chosen = model.rank_haplotypes([_fragments(evidence, sample) for sample in present], keep)
    else:
        chosen = np.arange(len(evidence.events))
    numbers = np.array([len(evidence.events[index]) for index in chosen])
    return evidence.take_haplotypes(chosen[np.argsort(-numbers, kind="stable")])


def _sample_model(evidence: Evidence, sample: int, ploidy: int, priors: dict[int, np.ndarray]) -> _SampleModel:
    rows = model.genotypes(ploidy, len(evidence.events))
    return _SampleModel(ploidy, rows, model.genotype_log10(_fragments(evidence, sample), rows), priors[ploidy])


def _prior(evidence: Evidence, ploidy: int, options: GenotypeOptions) -> np.ndarray:
    events = sorted({event for events in evidence.events for event in events})
    number_of = {event: number for number, event in enumerate(events)}
    carries = np.zeros((len(evidence.events), len(events)), bool)
    for haplotype, own in enumerate(evidence.events):
        carries[haplotype, [number_of[event] for event in own]] = True
    rates = np.log10([_rate(event.is_snv, options) for event in events])
    rows = model.genotypes(ploidy, len(evidence.events))
    return model.haplotype_prior(rows, carries, rates, options.linked_event_probability)


def _rate(is_snv: bool, options: GenotypeOptions) -> float:
    # A rate of 0 would forbid what the reads show: the smallest positive number says "as rare as can be".
    return max(options.heterozygosity if is_snv else options.indel_heterozygosity, 1e-300)


def _call_site(
    site: Site,
    evidence: Evidence,
    shown: np.ndarray,
    samples: Sequence[Sample],
    models: dict[int, _SampleModel],
    options: GenotypeOptions,
) -> _SiteCall | None:
    """The record of a site, or None where no called genotype carries a variant or QUAL is too low."""
    overlap = (evidence.reads.start <= site.pos) & (site.pos < evidence.reads.end)
    covered = [sample for sample in models if (overlap & (evidence.reads.sample == sample)).any()]
    if not covered:
        return None
    likelihoods = [_site_likelihoods(site, models[sample]) for sample in covered]
    ploidies = [models[sample].ploidy for sample in covered]
    while True:
        rates = np.array([1.0, *(_rate(site.is_snv(allele), options) for allele in range(1, len(site.alleles)))])
        posteriors = population.posteriors(likelihoods, ploidies, rates, site.is_variant)
        calls = [int(posterior.argmax()) for posterior in posteriors]
        carried = {0}.union(*(model.genotypes(p, len(site.alleles))[call].tolist() for p, call in zip(ploidies, calls, strict=True)))
        if not any(site.is_variant[allele] for allele in carried):
            return None
        if len(carried) == len(site.alleles):
            break
        wanted = sorted(carried)
        likelihoods = [_subset(one, ploidy, len(site.alleles), wanted) for one, ploidy in zip(likelihoods, ploidies, strict=True)]
        site = site.keep(wanted)
    quality = population.site_quality(likelihoods, ploidies, rates, site.is_variant)
    if quality < options.emit_quality:
        return None
    site_evidence = evidence.take_reads(overlap)
    by_allele = _by_allele(site_evidence.log10, site, shown)
    sample_calls = _depths(site, site_evidence, shown, len(samples), options)
    for sample, ploidy, likelihood, posterior, call in zip(covered, ploidies, likelihoods, posteriors, calls, strict=True):
        target = sample_calls[sample]
        target.genotype = tuple(model.genotypes(ploidy, len(site.alleles))[call].tolist())
        target.quality = population.genotype_quality(posterior, call)
        target.likelihoods = population.phred_likelihoods(likelihood)
    artefact = _artefact_quality(site, site_evidence, sample_calls, models, options)
    info = site_info(site, quality, artefact, sample_calls, _site_reads(site, site_evidence.reads, by_allele, options))
    filters = failed_filters(site.alleles, quality, info, sample_calls, options)
    return _SiteCall(site, Call(evidence.contig, site.pos, site.alleles, quality, sample_calls, info, filters))


def _site_likelihoods(site: Site, sample: _SampleModel) -> np.ndarray:
    groups = model.genotype_indices(site.of_haplotype[sample.rows], len(site.alleles))
    return model.marginalise(sample.log10, sample.prior, groups, len(model.genotypes(sample.ploidy, len(site.alleles))))


def _subset(likelihood: np.ndarray, ploidy: int, alleles: int, wanted: Sequence[int]) -> np.ndarray:
    """Likelihoods of the genotypes of alleles `wanted` alone."""
    return likelihood[model.genotype_indices(np.array(wanted)[model.genotypes(ploidy, len(wanted))], alleles)]


def _depths(site: Site, evidence: Evidence, shown: np.ndarray, samples: int, options: GenotypeOptions) -> list[SampleCall]:
    """DP and AD of each sample, a fragment counted once; `evidence` has the reads over the site."""
    fragments, numbers = np.unique(evidence.reads.fragment, return_inverse=True)
    owner = np.zeros(len(fragments), np.int64)
    owner[numbers] = evidence.reads.sample
    log10 = _by_allele(model.combine_fragments(evidence.log10, numbers, len(fragments)), site, shown)
    best = informative_alleles(log10, options.informative_margin)
    calls = []
    for sample in range(samples):
        own = best[owner == sample]
        calls.append(SampleCall(len(own), np.bincount(own[own >= 0], minlength=len(site.alleles)).tolist()))
    return calls


def _site_reads(site: Site, reads: Reads, by_allele: np.ndarray, options: GenotypeOptions) -> SiteReads:
    before = site.pos - reads.start + reads.offset
    distance = np.maximum(0, np.minimum(before, reads.whole - 1 - before))
    return SiteReads(informative_alleles(by_allele, options.informative_margin), reads.reverse, reads.mapq, distance)


def _artefact_quality(
    site: Site, evidence: Evidence, calls: Sequence[SampleCall], models: dict[int, _SampleModel], options: GenotypeOptions
) -> float:
    """ARTQ of the record: that of its most credible variant allele; `evidence` has the reads over the site."""
    best = 0.0
    for allele in np.flatnonzero(site.is_variant).tolist():
        odds = [
            _sample_odds(site, evidence, models[sample], evidence.reads.sample == sample, call.genotype, allele)
            for sample, call in enumerate(calls)
            if call.genotype is not None and allele in call.genotype
        ]
        rate = math.log10(_rate(site.is_snv(allele), options))
        best = max(best, artefact_quality(odds, rate, options.strand_artefact_rate, options.artefact_rate))
    return best


def _sample_odds(site: Site, evidence: Evidence, sample: _SampleModel, own: np.ndarray, genotype: Sequence[int], allele: int) -> np.ndarray:
    shown = np.sort(site.of_haplotype[sample.rows], axis=1)
    called = _best_row(sample, (shown == sorted(genotype)).all(axis=1))
    carriers = [haplotype for haplotype in called if site.of_haplotype[haplotype] == allele]
    others = [haplotype for haplotype in called if haplotype not in carriers]
    without = others + [_lacking(evidence, site, haplotype, others) for haplotype in carriers]
    return artefact_odds(evidence.log10[own], evidence.reads.reverse[own], called, without, carriers[0])


def _lacking(evidence: Evidence, site: Site, haplotype: int, others: Sequence[int]) -> int:
    """The haplotype with the same events but those at the site, if that brings no new allele; else another called one, or the reference.

    Not simply the best that lacks them: a third haplotype or allele would fit noise elsewhere, and the artefact win by that.
    """
    wanted = tuple(event for event in evidence.events[haplotype] if event.pos != site.pos)
    if wanted in evidence.events:
        found = evidence.events.index(wanted)
        if not others or site.of_haplotype[found] in site.of_haplotype[list(others)]:
            return found
    return others[0] if others else evidence.events.index(())


def _best_row(sample: _SampleModel, chosen: np.ndarray) -> list[int]:
    return sample.rows[np.where(chosen, sample.log10 + sample.prior, -np.inf).argmax()].tolist()


def _shown_haplotypes(evidence: Evidence, models: dict[int, _SampleModel]) -> np.ndarray:
    """bool (haplotypes,): those of some sample's best genotype, and the reference."""
    shown = np.array([not events for events in evidence.events])
    for sample in models.values():
        shown[_best_row(sample, np.ones(len(sample.rows), bool))] = True
    return shown


def _by_allele(log10: np.ndarray, site: Site, shown: np.ndarray) -> np.ndarray:
    """(rows, alleles): the value of the best haplotype that carries the allele.

    Only haplotypes that are `shown` count where there are some: a candidate that no sample has may write the same bases otherwise,
    and would leave every read undecided.
    """
    columns = []
    for allele in range(len(site.alleles)):
        carriers = site.of_haplotype == allele
        columns.append(log10[:, carriers & shown if (carriers & shown).any() else carriers].max(axis=1))
    return np.stack(columns, axis=1)


def _phase(found: Sequence[_SiteCall], sample: int, sample_model: _SampleModel, evidence: Evidence, options: GenotypeOptions) -> None:
    """Write phased genotypes of one diploid sample into the records, block by block."""
    heterozygous = [one for one in found if _is_heterozygous(one.call.samples[sample].genotype)]
    swapped = False
    for previous, current in itertools.pairwise(heterozygous):
        before, after = previous.call.samples[sample], current.call.samples[sample]
        assert before.genotype is not None
        assert after.genotype is not None
        genotypes = sorted(before.genotype), after.genotype
        alleles = [one.site.of_haplotype[sample_model.rows] for one in (previous, current)]
        confidence = same_phase(sample_model.log10, *alleles, genotypes)
        connected = _connecting(evidence, sample, previous.site.pos, current.site.pos) >= _MIN_CONNECTING
        if not connected or abs(confidence) < options.phase_quality:
            swapped = False
            continue
        if before.phase_set is None:
            before.phase_set = previous.call.pos
        after.phase_set = before.phase_set
        swapped ^= confidence < 0
        if swapped:
            after.genotype = after.genotype[::-1]


def _is_heterozygous(genotype: tuple[int, ...] | None) -> bool:
    return genotype is not None and genotype[0] != genotype[-1]


def _connecting(evidence: Evidence, sample: int, first: int, second: int) -> int:
    """Fragments of the sample with reads over both positions."""
    reads = evidence.reads
    reach = [(reads.sample == sample) & (reads.start <= pos) & (pos < reads.end) for pos in (first, second)]
    return len(np.intersect1d(reads.fragment[reach[0]], reads.fragment[reach[1]]))
