<CsoundSynthesizer>
<CsOptions>
-n -d -m0
</CsOptions>
<CsInstruments>
; SPDX-License-Identifier: Apache-2.0
sr = 44100
ksmps = 32
nchnls = 1
0dbfs = 1
instr 1
 a1 oscili 0.1, 440 * (1 + p4)
 a2 vco2 0.1, 220
 a3 moogladder a1 + a2, 1000, 0.5
 a4 reverb a3, 1
 out a4
endin
</CsInstruments>
<CsScore>
i 1 0 600 1
i 1 0 600 2
</CsScore>
</CsoundSynthesizer>
